// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s

// A program of two stages: what all ranks share comes first.
// CHECK: plan.program @two_stages mesh (dp = 2, pp = 2, tp = 1) training <sequence_length = 8, samples = 2, micro_batches = 3, vocabulary = 16, parameters = 64, flops_per_micro_batch = 1024, compute = f32> seed 7 options "--dp=2 --pp=2" {
// CHECK-NEXT: plan.group @dp over ["dp"]
// CHECK-NEXT: plan.group @tied over ["pp"] stages [0, 1]
// CHECK-NEXT: plan.channel @forward_0_to_1 from 0 to 1 depth 2 : !plan.buffer<2x8x4xf32>
// CHECK-NEXT: plan.stage 0 {
plan.program @two_stages mesh (dp = 2, pp = 2, tp = 1) training <sequence_length = 8, samples = 2, micro_batches = 3, vocabulary = 16, parameters = 64, flops_per_micro_batch = 1024, compute = f32> seed 7 options "--dp=2 --pp=2" {
  plan.group @dp over ["dp"]
  plan.group @tied over ["pp"] stages [0, 1]
  plan.channel @forward_0_to_1 from 0 to 1 depth 2 : !plan.buffer<2x8x4xf32>
  plan.stage 0 {
    // Memory that is not assigned yet has no numbers.
    // CHECK: plan.region parameters slots 1{{$}}
    // CHECK-NEXT: plan.region activations slots 2{{$}}
    // CHECK-NEXT: plan.region scratch slots 1{{$}}
    plan.region parameters slots 1
    plan.region activations slots 2
    plan.region scratch slots 1
    // Buffers are called in the text what they are called in the program.
    // CHECK-NEXT: %embed.weight = plan.buffer "embed.weight" in parameters : <16x4xf32>
    // CHECK-NEXT: %tokens = plan.buffer "tokens" in activations : <2x8xi32>
    // CHECK-NEXT: %x = plan.buffer "x" in scratch : <2x8x4xf32>
    %w = plan.buffer "embed.weight" in parameters : !plan.buffer<16x4xf32>
    %t = plan.buffer "tokens" in activations : !plan.buffer<2x8xi32>
    %x = plan.buffer "x" in scratch : !plan.buffer<2x8x4xf32>
    // CHECK-NEXT: plan.variable parameter "embed.weight" of "embed.weight" in %embed.weight layout <[-, -], of = [16, 4]> init <value = 0.000000e+00 : f64, stddev = 2.000000e-02 : f64, key = "embed.weight"> owner : <16x4xf32>
    plan.variable parameter "embed.weight" of "embed.weight" in %w layout <[-, -], of = [16, 4]> init <value = 0.0 : f64, stddev = 0.02 : f64, key = "embed.weight"> owner : !plan.buffer<16x4xf32>
    // CHECK-NEXT: plan.segment forward "forward" {
    // CHECK-NEXT: plan.input "tokens" into %tokens : <2x8xi32>
    // CHECK-NEXT: plan.kernel "embedding"(%tokens, %embed.weight) -> (%x) {vocab_offset = 0 : i64} cost <flops = 0, bytes_read = 384, bytes_written = 256> : (!plan.buffer<2x8xi32>, !plan.buffer<16x4xf32>) -> !plan.buffer<2x8x4xf32>
    // CHECK-NEXT: plan.send %x on @forward_0_to_1 : <2x8x4xf32>
    plan.segment forward "forward" {
      plan.input "tokens" into %t : !plan.buffer<2x8xi32>
      plan.kernel "embedding"(%t, %w) -> (%x) {vocab_offset = 0 : i64} cost <flops = 0, bytes_read = 384, bytes_written = 256> : (!plan.buffer<2x8xi32>, !plan.buffer<16x4xf32>) -> !plan.buffer<2x8x4xf32>
      plan.send %x on @forward_0_to_1 : !plan.buffer<2x8x4xf32>
    }
    plan.segment update "update" {
    }
    // One run a line.
    // CHECK: plan.schedule [
    // CHECK-NEXT: {{^ *}}warm_up "forward" 0 in 0 sends [@forward_0_to_1],
    // CHECK-NEXT: {{^ *}}steady "forward" 1 in 1 sends [@forward_0_to_1],
    // CHECK-NEXT: {{^ *}}cool_down "forward" 2 in 0 sends [@forward_0_to_1],
    // CHECK-NEXT: {{^ *}}"update"]
    plan.schedule [warm_up "forward" 0 in 0 sends [@forward_0_to_1], steady "forward" 1 in 1 sends [@forward_0_to_1],
      cool_down "forward" 2 in 0 sends [@forward_0_to_1], "update"]
  }
  // Memory that is assigned says where everything lies.
  // CHECK: plan.stage 1 arena 896 {
  plan.stage 1 arena 896 {
    // CHECK-NEXT: plan.region gradients slots 1 at 0 holds 64 live 4
    // CHECK-NEXT: plan.region communication slots 1 at 64 holds 512 live 512
    // CHECK-NEXT: plan.region scratch slots 1 at 576 holds 320 live 260
    plan.region gradients slots 1 at 0 holds 64 live 4
    plan.region communication slots 1 at 64 holds 512 live 512
    plan.region scratch slots 1 at 576 holds 320 live 260
    // CHECK-NEXT: %loss_sum = plan.buffer "loss_sum" in gradients at 0 : <f32>
    %loss_sum = plan.buffer "loss_sum" in gradients at 0 : !plan.buffer<f32>
    %m0 = plan.buffer "messages.0" in communication at 0 : !plan.buffer<2x8x4xf32>
    %m1 = plan.buffer "messages.1" in communication at 256 : !plan.buffer<2x8x4xf32>
    %x = plan.buffer "x" in scratch at 0 : !plan.buffer<2x8x4xf32>
    %y = plan.buffer "y" in scratch at 256 : !plan.buffer<f32>
    // CHECK: plan.messages @forward_0_to_1 in %messages.0, %messages.1 : !plan.buffer<2x8x4xf32>, !plan.buffer<2x8x4xf32>
    plan.messages @forward_0_to_1 in %m0, %m1 : !plan.buffer<2x8x4xf32>, !plan.buffer<2x8x4xf32>
    // A metric belongs to no parameter; what is left to add up stays in its layout.
    // CHECK-NEXT: plan.variable metric "loss_sum" in %loss_sum layout <[], partial = [dp], of = []> init <value = 0.000000e+00 : f64> owner : <f32>
    plan.variable metric "loss_sum" in %loss_sum layout <[], partial = [dp], of = []> init <value = 0.0 : f64> owner : !plan.buffer<f32>
    // CHECK: plan.recv @forward_0_to_1 into %x : <2x8x4xf32>
    plan.segment forward "forward" {
      plan.recv @forward_0_to_1 into %x : !plan.buffer<2x8x4xf32>
      plan.kernel "sum_squares"(%x) -> (%y) {} cost <flops = 128, bytes_read = 256, bytes_written = 4> : (!plan.buffer<2x8x4xf32>) -> !plan.buffer<f32>
    }
    // CHECK: plan.segment update "update" {
    // CHECK-NEXT: plan.output %loss_sum as "loss" : <f32>
    plan.segment update "update" {
      plan.output %loss_sum as "loss" : !plan.buffer<f32>
    }
    plan.schedule [steady "forward" 0 in 0 receives [@forward_0_to_1], steady "forward" 1 in 0 receives [@forward_0_to_1],
      steady "forward" 2 in 0 receives [@forward_0_to_1], "update"]
  }
}

// Seven samples a step, where eight would fit.
// CHECK: plan.program @uneven {{.*}} training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 1024, compute = f32, global_batch = 7> seed 0
plan.program @uneven mesh (dp = 2, pp = 1, tp = 1) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 1024, compute = f32, global_batch = 7> seed 0 options "" {
  plan.stage 0 {
  }
}

// Two chunks of one stage, one with work that its backward leaves for later.
// CHECK: plan.program @chunks
plan.program @chunks mesh (dp = 1, pp = 1, tp = 1) training <sequence_length = 8, samples = 2, micro_batches = 1, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  // CHECK-NEXT: plan.channel @forward_0_to_0.1 from 0 to 0 depth 1 : !plan.buffer<2xf32>
  plan.channel @forward_0_to_0.1 from 0 to 0 depth 1 : !plan.buffer<2xf32>
  plan.stage 0 {
    // CHECK: plan.region activations slots 1{{$}}
    // CHECK-NEXT: plan.region activations chunk 1 slots 3{{$}}
    plan.region communication slots 1
    plan.region scratch slots 1
    plan.region activations slots 1
    plan.region activations chunk 1 slots 3
    %m = plan.buffer "m" in communication : !plan.buffer<2xf32>
    %x = plan.buffer "x" in scratch : !plan.buffer<2xf32>
    // CHECK: plan.buffer "a" in activations chunk 1 : <2xf32>
    // CHECK-NEXT: plan.buffer "b" in activations chunk 1 part of %a from 4 : <1xf32> of !plan.buffer<2xf32>
    %a = plan.buffer "a" in activations chunk 1 : !plan.buffer<2xf32>
    %b = plan.buffer "b" in activations chunk 1 part of %a from 4 : !plan.buffer<1xf32> of !plan.buffer<2xf32>
    plan.messages @forward_0_to_0.1 in %m : !plan.buffer<2xf32>
    plan.segment forward "forward" {
      plan.send %x on @forward_0_to_0.1 : !plan.buffer<2xf32>
    }
    // CHECK: plan.segment forward "forward.1" chunk 1 {
    plan.segment forward "forward.1" chunk 1 {
      plan.recv @forward_0_to_0.1 into %a : !plan.buffer<2xf32>
    }
    // CHECK: plan.segment weight_gradient "weight_gradient.1" chunk 1 {
    plan.segment weight_gradient "weight_gradient.1" chunk 1 {
    }
    // CHECK: plan.schedule [
    // CHECK-NEXT: {{^ *}}warm_up "forward" 0 in 0 sends [@forward_0_to_0.1],
    // CHECK-NEXT: {{^ *}}steady "forward.1" 0 in 2 receives [@forward_0_to_0.1],
    // CHECK-NEXT: {{^ *}}steady "weight_gradient.1" 0 in 2]
    plan.schedule [warm_up "forward" 0 in 0 sends [@forward_0_to_0.1],
      steady "forward.1" 0 in 2 receives [@forward_0_to_0.1], steady "weight_gradient.1" 0 in 2]
  }
}

// Pages that chunks share, and what lies over them.
// CHECK-LABEL: plan.program @pages
// CHECK: plan.region pages slots 2 at 0 holds 64 live 64
// CHECK-NEXT: plan.region pages chunk 1 slots 2 at 0 holds 64 live 32
// CHECK-NEXT: plan.region leaves slots 1 at 128 holds 64 live 64
// CHECK-NEXT: plan.region step slots 1 at 0 holds 128 live 128
// CHECK: steady "forward" 0 in 0 page 2 leaf 1,
// CHECK-NEXT: steady "forward" 1 in 0 leaf 1]
plan.program @pages mesh (pp = 1) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 192 {
    plan.region activations slots 1 at 192 holds 0 live 0
    plan.region pages slots 2 at 0 holds 64 live 64
    plan.region pages chunk 1 slots 2 at 0 holds 64 live 32
    plan.region leaves slots 1 at 128 holds 64 live 64
    plan.region step slots 1 at 0 holds 128 live 128
    %a = plan.buffer "a" in pages at 0 : !plan.buffer<16xf32>
    %u = plan.buffer "u" in step at 0 : !plan.buffer<32xf32>
    plan.segment forward "forward" {
      plan.kernel "fill"() -> (%a) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<16xf32>
    }
    plan.segment update "update" {
      plan.kernel "fill"() -> (%u) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<32xf32>
    }
    plan.schedule [steady "forward" 0 in 0 page 2 leaf 1, steady "forward" 1 in 0 leaf 1]
  }
}

// Pages and leaves that lie anywhere in one lot, and a run that has one alone.
// CHECK-LABEL: plan.program @places
// CHECK: plan.region pages slots 1 at 0 holds 64 live 64 places [64]
// CHECK-NEXT: plan.region leaves slots 2 at 0 holds 64 live 64 places [0, 64]
// CHECK: steady "forward" 0 in 0 page 1 leaf 1]
plan.program @places mesh (pp = 1) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 128 {
    plan.region activations slots 1 at 128 holds 0 live 0
    plan.region pages slots 1 at 0 holds 64 live 64 places [64]
    plan.region leaves slots 2 at 0 holds 64 live 64 places [0, 64]
    %a = plan.buffer "a" in pages at 0 : !plan.buffer<16xf32>
    %b = plan.buffer "b" in leaves at 0 : !plan.buffer<16xf32>
    plan.segment forward "forward" {
      plan.kernel "fill"() -> (%a) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<16xf32>
      plan.kernel "fill"() -> (%b) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<16xf32>
    }
    plan.schedule [steady "forward" 0 in 0 page 1 leaf 1]
  }
}
