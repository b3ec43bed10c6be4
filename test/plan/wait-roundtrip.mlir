// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s

// Two collectives in flight, on two streams; what they do not touch, and the input of the
// first, may be used meanwhile.
plan.program @flights mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.group @dp over ["dp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<4xf32>
    %z = plan.buffer "z" in scratch : !plan.buffer<4xf32>
    %w = plan.buffer "w" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // CHECK: plan.collective all_reduce_sum %x to %y over @tp event 1 on tensor cost
      plan.collective all_reduce_sum %x to %y over @tp event 1 on tensor cost <flops = 8, bytes_read = 16, bytes_written = 16> : !plan.buffer<4xf32> to !plan.buffer<4xf32>
      // CHECK: plan.collective all_reduce_sum %z to %z over @dp event 2 on data cost
      plan.collective all_reduce_sum %z to %z over @dp event 2 on data cost <flops = 8, bytes_read = 16, bytes_written = 16> : !plan.buffer<4xf32> to !plan.buffer<4xf32>
      plan.kernel "copy"(%x) -> (%w) {} cost <flops = 0, bytes_read = 16, bytes_written = 16> : (!plan.buffer<4xf32>) -> !plan.buffer<4xf32>
      // CHECK: plan.wait 1 for %y, %x : !plan.buffer<4xf32>, !plan.buffer<4xf32>
      plan.wait 1 for %y, %x : !plan.buffer<4xf32>, !plan.buffer<4xf32>
      // CHECK: plan.wait 2 for %z : !plan.buffer<4xf32>
      plan.wait 2 for %z : !plan.buffer<4xf32>
    }
  }
}
