// RUN: tgpt-opt %s --plan-assign-memory -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --plan-assign-memory --plan-assign-memory -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --plan-assign-memory=alignment=256 -split-input-file | FileCheck %s --check-prefix=WIDE
// RUN: not tgpt-opt %s --plan-assign-memory=alignment=48 -split-input-file 2>&1 | FileCheck %s --check-prefix=ODD
// ODD: option 'alignment' is 48, expected a power of two of at least 8

// Scratch that is never live at once shares bytes, and the segments share all of it: %a
// and %c may, %a and %b (read and written by one kernel) may not. The region holds what
// is live at the peak: %b and %c in the begin, 100 and 64 bytes.
// CHECK-LABEL: plan.program @scratch
// CHECK: plan.stage 0 arena 192 {
// CHECK-NEXT: plan.region scratch slots 1 at 0 holds 192 live 164
// CHECK-NEXT: "a" in scratch at [[A:0|128]] :
// CHECK-NEXT: "b" in scratch at [[B:0|64]] :
// CHECK-NEXT: "c" in scratch at [[A]] :
// CHECK-NEXT: "other" in scratch at 0 :
// WIDE-LABEL: plan.program @scratch
// WIDE: plan.stage 0 arena 512 {
// WIDE-NEXT: plan.region scratch slots 1 at 0 holds 512 live 164
plan.program @scratch mesh (tp = 1) training <sequence_length = 8, samples = 2, micro_batches = 1, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region scratch slots 1
    %a = plan.buffer "a" in scratch : !plan.buffer<16xf32>
    %b = plan.buffer "b" in scratch : !plan.buffer<25xf32>
    %c = plan.buffer "c" in scratch : !plan.buffer<16xf32>
    %other = plan.buffer "other" in scratch : !plan.buffer<40xf32>
    plan.segment begin "begin" {
      plan.kernel "fill"() -> (%a) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<16xf32>
      plan.kernel "copy"(%a) -> (%b) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<16xf32>) -> !plan.buffer<25xf32>
      plan.kernel "copy"(%b) -> (%c) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<25xf32>) -> !plan.buffer<16xf32>
    }
    plan.segment update "update" {
      plan.kernel "fill"() -> (%other) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<40xf32>
    }
  }
}

// -----

// Activations live from the forward into the backward, all of them at the turn; each slot
// has its own. Variables and messages are always live. Regions follow in their order. %t is
// made when %x and %y are dead, so it lies in the slot; %s is made of them and does not.
// CHECK-LABEL: plan.program @regions
// CHECK: plan.stage 0 arena 0
// CHECK: plan.stage 1 arena 576 {
// CHECK-NEXT: plan.region parameters slots 1 at 0 holds 128 live 96
// CHECK-NEXT: plan.region activations slots 2 at 128 holds 128 live 128
// CHECK-NEXT: plan.region communication slots 1 at 384 holds 128 live 128
// CHECK-NEXT: plan.region scratch slots 1 at 512 holds 64 live 64
// CHECK-NEXT: "w" in parameters at 0 :
// CHECK-NEXT: "v" in parameters at 64 :
// CHECK-NEXT: "x" in activations at 0 :
// CHECK-NEXT: "y" in activations at 64 :
// CHECK-NEXT: "m0" in communication at 0 :
// CHECK-NEXT: "m1" in communication at 64 :
// CHECK-NEXT: "s" in scratch at 0 :
// CHECK-NEXT: "t" in activations at {{0|64}} :
plan.program @regions mesh (pp = 2) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.channel @c from 0 to 1 depth 2 : !plan.buffer<16xf32>
  plan.stage 0 {
  }
  plan.stage 1 {
    plan.region parameters slots 1
    plan.region activations slots 2
    plan.region communication slots 1
    plan.region scratch slots 1
    %w = plan.buffer "w" in parameters : !plan.buffer<16xf32>
    %v = plan.buffer "v" in parameters : !plan.buffer<8xf32>
    %x = plan.buffer "x" in activations : !plan.buffer<16xf32>
    %y = plan.buffer "y" in activations : !plan.buffer<16xf32>
    %m0 = plan.buffer "m0" in communication : !plan.buffer<16xf32>
    %m1 = plan.buffer "m1" in communication : !plan.buffer<16xf32>
    %s = plan.buffer "s" in scratch : !plan.buffer<16xf32>
    %t = plan.buffer "t" in scratch : !plan.buffer<8xf32>
    plan.messages @c in %m0, %m1 : !plan.buffer<16xf32>, !plan.buffer<16xf32>
    plan.segment forward "forward" {
      plan.recv @c into %x : !plan.buffer<16xf32>
      plan.kernel "gelu"(%x) -> (%y) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<16xf32>) -> !plan.buffer<16xf32>
    }
    plan.segment backward "backward" {
      plan.kernel "gelu_grad"(%y, %x) -> (%s) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<16xf32>, !plan.buffer<16xf32>) -> !plan.buffer<16xf32>
      plan.kernel "copy"(%s) -> (%t) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<16xf32>) -> !plan.buffer<8xf32>
    }
  }
}

// -----

// Two slots of 128 bytes, and 192 bytes of scratch at the end of the backward. In a region of
// its own it would need 2 * 128 + 192; slots that it fits into need 2 * 192.
// CHECK-LABEL: plan.program @larger_slots
// CHECK: plan.stage 0 arena 384 {
// CHECK-NEXT: plan.region activations slots 2 at 0 holds 192 live 128
// CHECK-NEXT: plan.region scratch slots 1 at 384 holds 0 live 0
// CHECK-NEXT: "x" in activations at 0 :
// CHECK-NEXT: "last" in activations at 0 :
plan.program @larger_slots mesh (pp = 1) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 2
    plan.region scratch slots 1
    %x = plan.buffer "x" in activations : !plan.buffer<32xf32>
    %last = plan.buffer "last" in scratch : !plan.buffer<48xf32>
    plan.segment forward "forward" {
      plan.kernel "fill"() -> (%x) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<32xf32>
    }
    plan.segment backward "backward" {
      plan.kernel "copy"(%x) -> (%x) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<32xf32>) -> !plan.buffer<32xf32>
      plan.kernel "fill"() -> (%last) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<48xf32>
    }
  }
}

// -----

// Two micro-batches of chunk 0 and one of chunk 1 are in flight, but never more than two
// together: two pages of 128 bytes, and what chunk 1 keeps beyond a page in its slot.
// Slots alone would take 2 * 128 + 192 bytes.
// CHECK-LABEL: plan.program @pages
// CHECK: plan.stage 0 arena 320 {
// CHECK-NEXT: plan.region activations slots 2 at 256 holds 0 live 0
// CHECK-NEXT: plan.region activations chunk 1 slots 1 at 256 holds 64 live 64
// CHECK-NEXT: plan.region scratch slots 1 at 320 holds 0 live 0
// CHECK-NEXT: plan.region pages slots 2 at 0 holds 128 live 128
// CHECK-NEXT: plan.region pages chunk 1 slots 2 at 0 holds 128 live 128
// CHECK-NEXT: "x" in pages at 0 :
// CHECK-NEXT: "y" in pages chunk 1 at 0 :
// CHECK-NEXT: "z" in activations chunk 1 at 0 :
// CHECK: steady "forward" 0 in 0 page 1
// CHECK-NEXT: steady "forward.1" 0 in 0 page 2
// CHECK-NEXT: steady "backward.1" 0 in 0 page 2
// CHECK-NEXT: steady "forward" 1 in 1 page 2
// CHECK-NEXT: steady "backward" 0 in 0 page 1
// CHECK-NEXT: steady "forward.1" 1 in 0 page 1
// CHECK-NEXT: steady "backward.1" 1 in 0 page 1
// CHECK-NEXT: steady "backward" 1 in 1 page 2
plan.program @pages mesh (pp = 1) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 2
    plan.region activations chunk 1 slots 1
    plan.region scratch slots 1
    %x = plan.buffer "x" in activations : !plan.buffer<32xf32>
    %y = plan.buffer "y" in activations chunk 1 : !plan.buffer<32xf32>
    %z = plan.buffer "z" in activations chunk 1 : !plan.buffer<16xf32>
    plan.segment forward "forward" {
      plan.kernel "fill"() -> (%x) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<32xf32>
    }
    plan.segment forward "forward.1" chunk 1 {
      plan.kernel "fill"() -> (%y) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<32xf32>
      plan.kernel "fill"() -> (%z) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<16xf32>
    }
    plan.segment backward "backward.1" chunk 1 {
      plan.kernel "copy"(%z) -> (%z) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<16xf32>) -> !plan.buffer<16xf32>
      plan.kernel "copy"(%y) -> (%y) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<32xf32>) -> !plan.buffer<32xf32>
    }
    plan.segment backward "backward" {
      plan.kernel "copy"(%x) -> (%x) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<32xf32>) -> !plan.buffer<32xf32>
    }
    plan.schedule [steady "forward" 0 in 0, steady "forward.1" 0 in 0, steady "backward.1" 0 in 0,
      steady "forward" 1 in 1, steady "backward" 0 in 0, steady "forward.1" 1 in 0, steady "backward.1" 1 in 0,
      steady "backward" 1 in 1]
  }
}

// -----

// What a backward keeps for the weight gradients, and finds no room for in the slot, lies in
// a leaf: of two micro-batches in flight one at a time has it. Slots alone would take
// 2 * 192 bytes.
// CHECK-LABEL: plan.program @waiting
// CHECK: plan.stage 0 arena 320 {
// CHECK-NEXT: plan.region activations slots 2 at 64 holds 128 live 128
// CHECK-NEXT: plan.region scratch slots 1 at 320 holds 0 live 0
// CHECK-NEXT: plan.region leaves slots 1 at 0 holds 64 live 64
// CHECK-NEXT: "x" in activations at 0 :
// CHECK-NEXT: "g" in leaves at 0 :
// CHECK: steady "forward" 0 in 0,
// CHECK-NEXT: steady "forward" 1 in 1,
// CHECK-NEXT: steady "backward" 0 in 0 leaf 1,
// CHECK-NEXT: steady "weight_gradient" 0 in 0 leaf 1,
// CHECK-NEXT: steady "backward" 1 in 1 leaf 1,
// CHECK-NEXT: steady "weight_gradient" 1 in 1 leaf 1]
plan.program @waiting mesh (pp = 1) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 2
    plan.region scratch slots 1
    %x = plan.buffer "x" in activations : !plan.buffer<32xf32>
    %g = plan.buffer "g" in activations : !plan.buffer<16xf32>
    plan.segment forward "forward" {
      plan.kernel "fill"() -> (%x) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<32xf32>
    }
    plan.segment backward "backward" {
      plan.kernel "fill"() -> (%g) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<16xf32>
      plan.kernel "copy"(%x) -> (%x) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<32xf32>) -> !plan.buffer<32xf32>
    }
    plan.segment weight_gradient "weight_gradient" {
      plan.kernel "copy"(%g) -> (%g) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<16xf32>) -> !plan.buffer<16xf32>
      plan.kernel "copy"(%x) -> (%x) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<32xf32>) -> !plan.buffer<32xf32>
    }
    plan.schedule [steady "forward" 0 in 0, steady "forward" 1 in 1, steady "backward" 0 in 0,
      steady "weight_gradient" 0 in 0, steady "backward" 1 in 1, steady "weight_gradient" 1 in 1]
  }
}

// -----

// The second chunk's backward follows its forward at once, so what it keeps is dead in the backward of the first
// chunk, which has room there: its scratch lies in the leaf that the two take in turn. Else it would come on top.
// CHECK-LABEL: plan.program @lent
// CHECK: plan.stage 0 arena 256 {
// CHECK: plan.region leaves slots 1 at 0 holds 192 live 0
// CHECK-NEXT: plan.region leaves chunk 1 slots 1 at 0 holds 192 live 192
// CHECK: "x" in activations at 0 :
// CHECK-NEXT: "y" in leaves chunk 1 at 0 :
// CHECK-NEXT: "s" in leaves at 0 :
// CHECK: steady "forward" 0 in 0,
// CHECK-NEXT: steady "forward.1" 0 in 0 leaf 1,
// CHECK-NEXT: steady "backward.1" 0 in 0 leaf 1,
// CHECK-NEXT: steady "backward" 0 in 0 leaf 1]
plan.program @lent mesh (pp = 1) training <sequence_length = 8, samples = 2, micro_batches = 1, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 1
    plan.region activations chunk 1 slots 1
    plan.region scratch slots 1
    %x = plan.buffer "x" in activations : !plan.buffer<16xf32>
    %y = plan.buffer "y" in activations chunk 1 : !plan.buffer<48xf32>
    %s = plan.buffer "s" in scratch : !plan.buffer<32xf32>
    plan.segment forward "forward" {
      plan.kernel "fill"() -> (%x) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<16xf32>
    }
    plan.segment backward "backward" {
      plan.kernel "fill"() -> (%s) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<32xf32>
      plan.kernel "copy"(%x) -> (%x) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<16xf32>) -> !plan.buffer<16xf32>
    }
    plan.segment forward "forward.1" chunk 1 {
      plan.kernel "fill"() -> (%y) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<48xf32>
    }
    plan.segment backward "backward.1" chunk 1 {
      plan.kernel "copy"(%y) -> (%y) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<48xf32>) -> !plan.buffer<48xf32>
    }
    plan.schedule [steady "forward" 0 in 0, steady "forward.1" 0 in 0, steady "backward.1" 0 in 0,
      steady "backward" 0 in 0]
  }
}

// -----

// Of three micro-batches in flight one is before its backward, one in it, and one waits for its weight
// gradients. Each keeps w; before the backward f too, behind it b. Two pages hold f, and two leaves b, where three
// slots of w and either would leave 64 bytes of one slot unused at any time.
// CHECK-LABEL: plan.program @around_backward
// CHECK: plan.region activations slots 3 at 256 holds 64 live 64
// CHECK: plan.region pages slots 2 at 0 holds 64 live 64
// CHECK-NEXT: plan.region leaves slots 2 at 128 holds 64 live 64
// CHECK-NEXT: "w" in activations at 0 :
// CHECK-NEXT: "f" in pages at 0 :
// CHECK-NEXT: "b" in leaves at 0 :
// CHECK: steady "forward" 0 in 0 page 1,
// CHECK-NEXT: steady "forward" 1 in 1 page 2,
// CHECK-NEXT: steady "backward" 0 in 0 page 1 leaf 1,
// CHECK-NEXT: steady "forward" 2 in 2 page 1,
// CHECK-NEXT: steady "backward" 1 in 1 page 2 leaf 2,
// CHECK-NEXT: steady "weight_gradient" 0 in 0 leaf 1,
plan.program @around_backward mesh (pp = 1) training <sequence_length = 8, samples = 2, micro_batches = 3, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 3
    plan.region scratch slots 1
    %w = plan.buffer "w" in activations : !plan.buffer<16xf32>
    %f = plan.buffer "f" in activations : !plan.buffer<16xf32>
    %b = plan.buffer "b" in activations : !plan.buffer<16xf32>
    plan.segment forward "forward" {
      plan.kernel "fill"() -> (%w) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<16xf32>
      plan.kernel "fill"() -> (%f) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<16xf32>
    }
    plan.segment backward "backward" {
      plan.kernel "copy"(%f) -> (%b) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<16xf32>) -> !plan.buffer<16xf32>
    }
    plan.segment weight_gradient "weight_gradient" {
      plan.kernel "copy"(%b) -> (%b) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<16xf32>) -> !plan.buffer<16xf32>
      plan.kernel "copy"(%w) -> (%w) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<16xf32>) -> !plan.buffer<16xf32>
    }
    plan.schedule [steady "forward" 0 in 0, steady "forward" 1 in 1, steady "backward" 0 in 0, steady "forward" 2 in 2,
      steady "backward" 1 in 1, steady "weight_gradient" 0 in 0, steady "backward" 2 in 2,
      steady "weight_gradient" 1 in 1, steady "weight_gradient" 2 in 2]
  }
}

// -----

// Of two micro-batches at most three of f and b are held at one time, though two of either: they lie anywhere in one lot,
// where b of the second has the bytes that f of the first had. Apart they would take 64 bytes more, as much as slots alone.
// The second chunk keeps nothing.
// CHECK-LABEL: plan.program @lot
// CHECK: plan.stage 0 arena 320 {
// CHECK-NEXT: plan.region activations slots 2 at 0 holds 64 live 64 places [0, 128]
// CHECK-NEXT: plan.region activations chunk 1 slots 1 at 320 holds 0 live 0{{$}}
// CHECK-NEXT: plan.region scratch slots 1 at 320 holds 0 live 0
// CHECK-NEXT: plan.region pages slots 2 at 0 holds 64 live 64 places [64, 192]
// CHECK-NEXT: plan.region leaves slots 2 at 0 holds 64 live 64 places [64, 256]
// CHECK-NEXT: "w" in activations at 0 :
// CHECK-NEXT: "f" in pages at 0 :
// CHECK-NEXT: "b" in leaves at 0 :
// CHECK: steady "forward" 0 in 0 page 1,
// CHECK-NEXT: steady "forward" 1 in 1 page 2,
// CHECK-NEXT: steady "backward" 0 in 0 page 1 leaf 2,
// CHECK-NEXT: steady "backward" 1 in 1 page 2 leaf 1,
// CHECK-NEXT: steady "weight_gradient" 0 in 0 leaf 2,
// CHECK-NEXT: steady "weight_gradient" 1 in 1 leaf 1]
plan.program @lot mesh (pp = 1) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 2
    plan.region activations chunk 1 slots 1
    plan.region scratch slots 1
    %w = plan.buffer "w" in activations : !plan.buffer<16xf32>
    %f = plan.buffer "f" in activations : !plan.buffer<16xf32>
    %b = plan.buffer "b" in activations : !plan.buffer<16xf32>
    plan.segment forward "forward" {
      plan.kernel "fill"() -> (%w) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<16xf32>
      plan.kernel "fill"() -> (%f) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<16xf32>
    }
    plan.segment backward "backward" {
      plan.kernel "copy"(%f) -> (%b) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<16xf32>) -> !plan.buffer<16xf32>
    }
    plan.segment weight_gradient "weight_gradient" {
      plan.kernel "copy"(%b) -> (%b) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<16xf32>) -> !plan.buffer<16xf32>
      plan.kernel "copy"(%w) -> (%w) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<16xf32>) -> !plan.buffer<16xf32>
    }
    plan.schedule [steady "forward" 0 in 0, steady "forward" 1 in 1, steady "backward" 0 in 0, steady "backward" 1 in 1,
      steady "weight_gradient" 0 in 0, steady "weight_gradient" 1 in 1]
  }
}

// -----

// Nobody holds the leaf while a forward runs, so that has it alone, for s, which would come on top of it.
// CHECK-LABEL: plan.program @alone
// CHECK: plan.stage 0 arena 320 {
// CHECK-NEXT: plan.region activations slots 2 at 64 holds 128 live 128
// CHECK-NEXT: plan.region scratch slots 1 at 320 holds 0 live 0
// CHECK-NEXT: plan.region leaves slots 1 at 0 holds 64 live 64
// CHECK-NEXT: "x" in activations at 0 :
// CHECK-NEXT: "g" in leaves at 0 :
// CHECK-NEXT: "s" in leaves at 0 :
// CHECK: steady "forward" 0 in 0 leaf 1,
// CHECK-NEXT: steady "forward" 1 in 1 leaf 1,
// CHECK-NEXT: steady "backward" 0 in 0 leaf 1,
// CHECK-NEXT: steady "weight_gradient" 0 in 0 leaf 1,
plan.program @alone mesh (pp = 1) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 2
    plan.region scratch slots 1
    %x = plan.buffer "x" in activations : !plan.buffer<32xf32>
    %g = plan.buffer "g" in activations : !plan.buffer<16xf32>
    %s = plan.buffer "s" in scratch : !plan.buffer<16xf32>
    plan.segment forward "forward" {
      plan.kernel "fill"() -> (%s) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<16xf32>
      plan.kernel "fill"() -> (%x) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<32xf32>
      plan.kernel "copy"(%s) -> (%s) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<16xf32>) -> !plan.buffer<16xf32>
    }
    plan.segment backward "backward" {
      plan.kernel "fill"() -> (%g) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<16xf32>
      plan.kernel "copy"(%x) -> (%x) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<32xf32>) -> !plan.buffer<32xf32>
    }
    plan.segment weight_gradient "weight_gradient" {
      plan.kernel "copy"(%g) -> (%g) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<16xf32>) -> !plan.buffer<16xf32>
      plan.kernel "copy"(%x) -> (%x) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<32xf32>) -> !plan.buffer<32xf32>
    }
    plan.schedule [steady "forward" 0 in 0, steady "forward" 1 in 1, steady "backward" 0 in 0,
      steady "weight_gradient" 0 in 0, steady "backward" 1 in 1, steady "weight_gradient" 1 in 1]
  }
}

// -----

// An update runs when no micro-batch is in flight, so what it needs may lie over both slots.
// In scratch it would come on top of them.
// CHECK-LABEL: plan.program @step
// CHECK: plan.stage 0 arena 320 {
// CHECK-NEXT: plan.region activations slots 2 at 64 holds 128 live 128
// CHECK-NEXT: plan.region scratch slots 1 at 320 holds 0 live 0
// CHECK-NEXT: plan.region communication slots 1 at 0 holds 64 live 64
// CHECK-NEXT: plan.region step slots 1 at 64 holds 256 live 256
// CHECK-NEXT: "x" in activations at 0 :
// CHECK-NEXT: "m" in communication at 0 :
// CHECK-NEXT: "u" in step at 0 :
plan.program @step mesh (pp = 1) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.channel @c from 0 to 0 depth 1 : !plan.buffer<16xf32>
  plan.stage 0 {
    plan.region activations slots 2
    plan.region scratch slots 1
    plan.region communication slots 1
    %x = plan.buffer "x" in activations : !plan.buffer<32xf32>
    %m = plan.buffer "m" in communication : !plan.buffer<16xf32>
    %u = plan.buffer "u" in scratch : !plan.buffer<64xf32>
    plan.messages @c in %m : !plan.buffer<16xf32>
    plan.segment forward "forward" {
      plan.kernel "fill"() -> (%x) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<32xf32>
    }
    plan.segment backward "backward" {
      plan.kernel "copy"(%x) -> (%x) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<32xf32>) -> !plan.buffer<32xf32>
    }
    plan.segment update "update" {
      plan.kernel "fill"() -> (%u) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<64xf32>
    }
  }
}
