// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s

// Every kind of exchange among the three ranks of tp, and what it does to the shape.
plan.program @exchanges mesh (dp = 1, pp = 1, tp = 3) training <sequence_length = 6, samples = 1, micro_batches = 1, vocabulary = 6, parameters = 0, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %whole = plan.buffer "whole" in scratch : !plan.buffer<6x2xf32>
    %sum = plan.buffer "sum" in scratch : !plan.buffer<6x2xf32>
    %piece = plan.buffer "piece" in scratch : !plan.buffer<2x2xf32>
    %turned = plan.buffer "turned" in scratch : !plan.buffer<2x6xf32>
    plan.segment begin "begin" {
      // CHECK: plan.collective all_reduce_sum %whole to %sum over @tp cost <flops = 24, bytes_read = 48, bytes_written = 48> : <6x2xf32> to <6x2xf32>
      plan.collective all_reduce_sum %whole to %sum over @tp cost <flops = 24, bytes_read = 48, bytes_written = 48> : !plan.buffer<6x2xf32> to !plan.buffer<6x2xf32>
      // The two of an all_reduce may be one.
      // CHECK: plan.collective all_reduce_max %sum to %sum over @tp
      plan.collective all_reduce_max %sum to %sum over @tp cost <flops = 24, bytes_read = 48, bytes_written = 48> : !plan.buffer<6x2xf32> to !plan.buffer<6x2xf32>
      // CHECK: plan.collective reduce_scatter %whole to %piece over @tp dim 0 cost
      plan.collective reduce_scatter %whole to %piece over @tp dim 0 cost <flops = 24, bytes_read = 48, bytes_written = 16> : !plan.buffer<6x2xf32> to !plan.buffer<2x2xf32>
      // CHECK: plan.collective reduce_scatter %whole to %piece over @tp dim 0 tree cost
      plan.collective reduce_scatter %whole to %piece over @tp dim 0 tree cost <flops = 24, bytes_read = 48, bytes_written = 16> : !plan.buffer<6x2xf32> to !plan.buffer<2x2xf32>
      // CHECK: plan.collective all_gather %piece to %whole over @tp dim 0 cost
      plan.collective all_gather %piece to %whole over @tp dim 0 cost <flops = 0, bytes_read = 16, bytes_written = 48> : !plan.buffer<2x2xf32> to !plan.buffer<6x2xf32>
      // CHECK: plan.collective all_to_all %whole to %turned over @tp dim 0 concat 1 cost
      plan.collective all_to_all %whole to %turned over @tp dim 0 concat 1 cost <flops = 0, bytes_read = 48, bytes_written = 48> : !plan.buffer<6x2xf32> to !plan.buffer<2x6xf32>
    }
  }
}

// A scalar of a kernel may be of any simple kind, and may differ between ranks.
plan.program @scalars mesh (tp = 2) training <sequence_length = 6, samples = 1, micro_batches = 1, vocabulary = 6, parameters = 0, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<6xf32>
    plan.segment begin "begin" {
      // CHECK: plan.kernel "fill"() -> (%x) {causal = true, epsilon = 1.000000e-05 : f64, head_dim = 16 : i64, mode = "exact", vocab_offset = #plan.axis_offset<["tp"], stride = 3>} cost
      plan.kernel "fill"() -> (%x) {causal = true, epsilon = 1.0e-5 : f64, head_dim = 16 : i64, mode = "exact", vocab_offset = #plan.axis_offset<["tp"], stride = 3>} cost <flops = 0, bytes_read = 0, bytes_written = 24> : () -> !plan.buffer<6xf32>
    }
  }
}
