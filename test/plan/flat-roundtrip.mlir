// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s

// Parts of a buffer, and variables in pieces of a flat tensor.
plan.program @flat mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 128 {
    plan.region parameters slots 1 at 0 holds 64 live 64
    plan.region optimizer slots 1 at 64 holds 64 live 32
    // CHECK: %bucket = plan.buffer "bucket" in parameters at 0 : <16xf32>
    // CHECK-NEXT: %w = plan.buffer "w" in parameters at 16 part of %bucket from 16 : <4xf32> of !plan.buffer<16xf32>
    // CHECK-NEXT: %moments = plan.buffer "moments" in optimizer at 0 : <8xf32>
    %b = plan.buffer "bucket" in parameters at 0 : !plan.buffer<16xf32>
    %w = plan.buffer "w" in parameters at 16 part of %b from 16 : !plan.buffer<4xf32> of !plan.buffer<16xf32>
    %m = plan.buffer "moments" in optimizer at 0 : !plan.buffer<8xf32>
    // CHECK-NEXT: plan.variable parameter "w" of "w" in %w layout <[tp], of = [12]> init <value = 0.000000e+00 : f64> owner : <4xf32>
    // CHECK-NEXT: plan.variable moment1 "m" of "w" in %moments flat at 4 over ["dp"] layout <[tp], of = [12]> init <value = 0.000000e+00 : f64> owner : <8xf32>
    plan.variable parameter "w" of "w" in %w layout <[tp], of = [12]> init <value = 0.0 : f64> owner : !plan.buffer<4xf32>
    plan.variable moment1 "m" of "w" in %m flat at 4 over ["dp"] layout <[tp], of = [12]> init <value = 0.0 : f64> owner : !plan.buffer<8xf32>
  }
}
