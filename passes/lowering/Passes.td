//===- Passes.td - the passes of the lowering phase ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_LOWERING_PASSES_TD
#define TGPT_PASSES_LOWERING_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToPlan : Pass<"plan-lower", "::mlir::ModuleOp"> {
  let summary = "turn segments of tensor ops into instructions on buffers";
  let description = [{
    Every op becomes a kernel call, a collective or nothing (a read names the
    variable's buffer). A result is, in order of preference, added to the accumulator
    it is meant for, computed in the variable it is written to, computed over an
    operand that has no later use (where the kernel allows it), or given a buffer of
    its own. The gradient of a transient state is summed in its own buffer. Values of
    one segment go to scratch, values that the backward needs to the activations.
    A started collective has its operand and result to itself until its `dist.wait`.

    A bucket has one buffer and its members are parts of it; where it is cut into pieces
    its members have no buffer but a place in the flat tensor. The operands of a
    `dist.pack` are computed in parts of its result, the results of a `dist.unpack` are
    parts of its operand.

    Kernels that need bytes beside their operands (an op's `getWorkspaceBytes`), and
    products where the option gives them some, have one workspace: they run on one stream,
    one after the other.

    **Input**
    ```mlir
    %0 = dist.segment forward stage 0 {
      %w = tgpt.read @w : tensor<8x8xf32>
      %1 = tgpt.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      dist.yield %1 : tensor<4x8xf32>
    } : tensor<4x8xf32>
    ```
    **Output**
    ```mlir
    %w = plan.buffer "w" in parameters : !plan.buffer<8x8xf32>
    %y = plan.buffer "w.linear" in activations : !plan.buffer<4x8xf32>
    plan.segment forward "forward" {
      plan.input "x" into %x : !plan.buffer<4x8xf32>
      plan.kernel "linear"(%x, %w) -> (%y) {} cost <...> : (...) -> !plan.buffer<4x8xf32>
    }
    ```

    Fails when: the module is not pipelined; an op has no kernel; a value other than a
    state is used after its micro-batch.
  }];
  let dependentDialects = ["::tgpt::planir::PlanDialect"];
  let options = [
    Option<"seed", "seed", "uint64_t", "0", "Seed of the first weights">,
    Option<"globalBatch", "global-batch", "int64_t", "0",
           "Samples of a step, where they are fewer than its micro-batches hold; 0: as many as these hold">,
    Option<"productWorkspaceBytes", "product-workspace-bytes", "int64_t", "0",
           "Bytes beside its operands that a product is given, for the algorithms of a library that need some">,
    Option<"optionsText", "options", "std::string", "\"\"", "Command line to record in the plan">,
  ];
  let statistics = [
    Statistic<"kernels", "kernels", "Kernel calls written">,
    Statistic<"collectives", "collectives", "Collectives written">,
    Statistic<"startedCollectives", "started-collectives", "Of these, collectives that are started and waited for later">,
    Statistic<"inPlaceResults", "in-place-results", "Results computed over an operand that was dead">,
    Statistic<"inPlaceVariables", "in-place-variables", "Results computed in the variable they replace">,
    Statistic<"packedResults", "packed-results", "Results computed in their part of a flat buffer">,
    Statistic<"fusedAccumulations", "fused-accumulations", "Accumulations done by the producing kernel">,
    Statistic<"separateAccumulations", "separate-accumulations", "Accumulations that needed a kernel of their own">,
    Statistic<"treeAccumulations", "tree-accumulations", "Accumulations in a tree over the micro-batches">,
    Statistic<"copies", "copies", "Reads and writes of variables that needed a copy">,
  ];
}

#endif // TGPT_PASSES_LOWERING_PASSES_TD
