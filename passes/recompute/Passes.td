//===- Passes.td - the passes that trade computing for memory ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_RECOMPUTE_PASSES_TD
#define TGPT_PASSES_RECOMPUTE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ChooseRecompute : Pass<"tgpt-choose-recompute", "::mlir::ModuleOp"> {
  let summary = "decide which forward ops are computed again in the backward";
  let description = [{
    Writes `tgpt.recompute = true` on forward ops, which `tgpt-recompute` carries out.
    Only layers 0 to L - 1 are looked at: the backward of the head begins where its
    forward ends, so there is nothing to free. An op whose result another layer reads
    is left alone: what crosses layers is kept. So is an op that has the attribute
    already, true or false: a decision made by hand stands.

    `selective` asks of each op, in program order: how many bytes would no longer be
    kept for the backward (its results, less those of its operands that would have to
    be kept instead), and how many operations does that cost? The op is chosen when
    bytes are freed and it costs at most `flops-per-byte` operations for each, or when
    it says itself that it is worth it (attention does). `full` chooses all ops of a
    layer, so that its input is all that is kept.

    **Input**
    ```mlir
    %y = tgpt.gelu %x {tgpt.layer = 0 : i64} : ...
    %z = tgpt.linear %y, %w {tgpt.layer = 0 : i64} : ...
    ...
    tgpt.begin_backward
    %dw = tgpt.linear_wgrad %dz, %y {tgpt.layer = 0 : i64} : ...
    ... tgpt.gelu_grad %dy, %x {tgpt.layer = 0 : i64} : ...
    ```
    **Output** (`mode=selective`): %x is kept for gelu_grad anyway, so %y need not be
    ```mlir
    %y = tgpt.gelu %x {tgpt.layer = 0 : i64, tgpt.recompute = true} : ...
    ```
    Fails when the module has no micro-batch with a backward, or `flops-per-byte` is
    negative.
  }];
  let options = [
    Option<"mode", "mode", "::tgpt::RecomputeMode", "::tgpt::RecomputeMode::None", "What to compute again", [{
      ::llvm::cl::values(
        clEnumValN(::tgpt::RecomputeMode::None, "none", "nothing but what is decided already"),
        clEnumValN(::tgpt::RecomputeMode::Selective, "selective", "what is cheap for the bytes it frees, and attention"),
        clEnumValN(::tgpt::RecomputeMode::Full, "full", "all of a layer: only its input is kept"))
    }]>,
    Option<"flopsPerByte", "flops-per-byte", "double", "8.0",
           "Most operations that a freed byte may cost under `selective`: elementwise ops and norms need 1 to 5, matrix products hundreds">,
  ];
  let statistics = [
    Statistic<"numChosen", "ops-chosen", "Number of ops to be computed again">,
    Statistic<"numWithoutGain", "ops-without-gain", "Number of ops kept because recomputing them would free nothing">,
    Statistic<"numTooCostly", "ops-too-costly", "Number of ops kept because recomputing them would cost too many operations">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::mlir::func::FuncDialect"];
}

def Recompute : Pass<"tgpt-recompute", "::mlir::ModuleOp"> {
  let summary = "clone marked forward ops to where the backward uses their results";
  let description = [{
    Carries out `tgpt.recompute`. Before the first backward op of a layer that needs the
    result of a marked op of that layer, the op is cloned, and the marked ops of the
    layer that it needs before it; the backward uses the clones from there on. Clones
    keep layer and location and are marked `tgpt.recomputed`, which keeps them apart
    from their originals (equal ops could be merged again) and out of the count of the
    model's operations. The same op on the same operands gives the same bits.

    Values that another layer reads are never recomputed for it: they are kept. So no
    chain of clones leaves its layer, or its pipeline stage.

    **Input**
    ```mlir
    %y = tgpt.gelu %x {tgpt.layer = 0 : i64, tgpt.recompute = true} : ...
    ...
    tgpt.begin_backward
    %dw = tgpt.linear_wgrad %dz, %y {tgpt.layer = 0 : i64} : ...
    ```
    **Output**
    ```mlir
    %y = tgpt.gelu %x {tgpt.layer = 0 : i64} : ...
    ...
    tgpt.begin_backward
    %y1 = tgpt.gelu %x {tgpt.layer = 0 : i64, tgpt.recomputed} : ...
    %dw = tgpt.linear_wgrad %dz, %y1 {tgpt.layer = 0 : i64} : ...
    ```
    Fails when the module has no micro-batch with a backward, when a marked op is not in
    its forward, or when it is one that must not run twice.
  }];
  let statistics = [
    Statistic<"numClones", "ops-cloned", "Number of ops computed again">,
    Statistic<"numUnneeded", "ops-unneeded", "Number of marked ops that no backward op of their layer needs">,
    Statistic<"flopsRepeated", "flops-repeated", "Operations done again each micro-batch">,
    Statistic<"bytesFreed", "bytes-freed", "Bytes that the backward no longer keeps, of global tensors">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::mlir::func::FuncDialect"];
}

def AdvanceLossGradient : Pass<"tgpt-advance-loss-gradient", "::mlir::ModuleOp"> {
  let summary = "compute the gradient of the loss where the loss is computed";
  let description = [{
    Moves ops of the backward into the forward where that has all they read: constants,
    the loss scale, values of the forward. Only an op whose results may overwrite operands
    that nothing else of the backward reads is moved, so that no more is kept between the
    two: the gradient of the logits lies where the logits were, and what else it was
    computed from is not kept any longer. It stands right behind the loss, where the
    kernels of a device can read the logits once for both.

    An op of the backward that a person or `tgpt-choose-recompute` has made to read
    recomputed values stays, and so does one that reads a value of a later layer, which
    its pipeline stage does not have in the forward.

    **Input**
    ```mlir
    %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : ...
    tgpt.accumulate %loss, @loss_sum : tensor<f32>
    ...
    tgpt.begin_backward
    %seed = tgpt.fill {value = 1.0 : f64} : () -> tensor<f32>
    %dlogits = tgpt.cross_entropy_grad %logits, %labels, %lse, %seed : ...
    %dx = tgpt.linear_dgrad %dlogits, %w : ...
    ```
    **Output**
    ```mlir
    %seed = tgpt.fill {value = 1.0 : f64} : () -> tensor<f32>
    %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : ...
    %dlogits = tgpt.cross_entropy_grad %logits, %labels, %lse, %seed : ...
    tgpt.accumulate %loss, @loss_sum : tensor<f32>
    ...
    tgpt.begin_backward
    %dx = tgpt.linear_dgrad %dlogits, %w : ...
    ```
    Fails when the module has no micro-batch with a backward.
  }];
  let statistics = [
    Statistic<"numAdvanced", "ops-advanced", "Number of ops moved into the forward">,
    Statistic<"numDeclined", "ops-declined", "Number of ops that read nothing of the backward, but would keep more or need a later stage">,
    Statistic<"bytesFreed", "bytes-freed", "Bytes that are no longer kept for the backward, of global tensors">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::mlir::func::FuncDialect"];
}

#endif // TGPT_PASSES_RECOMPUTE_PASSES_TD
