// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --plan-assign-memory | FileCheck %s --check-prefix=PLACED

// Kernels of one stream share a workspace; it begins the arena, and is no operand.
plan.program @shared mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region workspace slots 1
    plan.region scratch slots 1
    %w = plan.buffer "workspace.compute" in workspace : !plan.buffer<64xi32>
    %x = plan.buffer "x" in scratch : !plan.buffer<4xi32>
    plan.segment begin "begin" {
      // CHECK: plan.kernel "fill"() -> (%x) {value = 0 : i64} workspace %workspace.compute : !plan.buffer<64xi32> cost
      plan.kernel "fill"() -> (%x) {value = 0 : i64} workspace %w : !plan.buffer<64xi32> cost <flops = 0, bytes_read = 0, bytes_written = 16> : () -> !plan.buffer<4xi32>
      // CHECK: plan.kernel "copy"(%x) -> (%x) {} workspace %workspace.compute : !plan.buffer<64xi32> cost
      plan.kernel "copy"(%x) -> (%x) {} workspace %w : !plan.buffer<64xi32> cost <flops = 0, bytes_read = 0, bytes_written = 16> : (!plan.buffer<4xi32>) -> !plan.buffer<4xi32>
    }
  }
}
// PLACED: plan.stage 0 arena 320
// PLACED: plan.region workspace slots 1 at 0 holds 256 live 256
// PLACED: plan.region scratch slots 1 at 256 holds 64 live 16
// PLACED: plan.buffer "workspace.compute" in workspace at 0 : <64xi32>
