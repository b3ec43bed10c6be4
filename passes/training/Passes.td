//===- Passes.td - the passes of the training phase ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_TRAINING_PASSES_TD
#define TGPT_PASSES_TRAINING_PASSES_TD

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"tgpt-differentiate", "::mlir::ModuleOp"> {
  let summary = "append the backward by reverse-mode differentiation";
  let description = [{
    The model function becomes `@micro_batch`: it adds its loss and token count to
    metric states, then runs the backward of the sum of the token losses and adds
    each parameter's gradient to a gradient state. `@begin` sets these states to zero
    once a step. Backward ops carry the layer and the location of their forward op.

    **Input**
    ```mlir
    tgpt.parameter @w : tensor<3x5xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
    func.func @loss(%tokens, %labels) -> (tensor<f32>, tensor<f32>) {
      ...
      %w = tgpt.read @w : tensor<3x5xf32>
      %y = tgpt.linear %x, %w : ...
      ...
      return %loss, %count : tensor<f32>, tensor<f32>
    }
    ```
    **Output**
    ```mlir
    tgpt.state gradient @w.gradient of @w : tensor<3x5xf32> {transient}
    func.func @micro_batch(%tokens, %labels) attributes {tgpt.phase = "micro_batch"} {
      ... forward ...
      tgpt.accumulate %loss, @loss_sum : tensor<f32>
      tgpt.accumulate %count, @token_count : tensor<f32>
      tgpt.begin_backward
      ...
      %dw = tgpt.linear_wgrad %dy, %x : ...
      tgpt.accumulate %dw, @w.gradient : tensor<3x5xf32>
      return
    }
    func.func @begin() attributes {tgpt.phase = "begin"} { ... tgpt.write %zero, @w.gradient ... }
    ```
    Fails when the module has no function from tokens and labels to loss sum and token
    count, when an op between a parameter and the loss cannot be differentiated, or
    when the loss reaches no parameter.
  }];
  let statistics = [
    Statistic<"numDifferentiated", "ops-differentiated", "Number of forward ops whose backward was built">,
    Statistic<"numSkipped", "ops-skipped", "Number of forward ops without influence of a parameter on the loss">,
    Statistic<"numUnusedParameters", "parameters-unused", "Number of parameters that get no gradient">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::mlir::func::FuncDialect"];
}

def AddOptimizer : Pass<"tgpt-add-optimizer", "::mlir::ModuleOp"> {
  let summary = "write the update: global gradient norm, clipping and AdamW";
  let description = [{
    Adds `@update(learning_rate, step) -> (loss, grad_norm, token_count)`, run once a step
    after all micro-batches. A bf16 or f16 parameter gets an f32 master copy that the
    optimizer works on. Parameters marked `no_decay` have weight decay 0.

    **Input**
    ```mlir
    tgpt.parameter @w : tensor<3x5xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
    tgpt.state gradient @w.gradient of @w : tensor<3x5xf32> {transient}
    ```
    **Output**
    ```mlir
    tgpt.state moment1 @w.moment1 of @w : tensor<3x5xf32>
    tgpt.state moment2 @w.moment2 of @w : tensor<3x5xf32>
    func.func @update(%lr, %step) -> (...) attributes {tgpt.phase = "update"} {
      %g = tgpt.read @w.gradient : tensor<3x5xf32>
      %s = tgpt.sum_squares %g : ...
      %n = tgpt.add_n %s : ...
      %norm, %scale = tgpt.clip_scale %n, %count {max_norm = 1.0 : f64} : ...
      %p1, %m1, %v1 = tgpt.adamw %p, %g, %m, %v, %scale, %lr, %step {...} : ...
      tgpt.write %p1, @w : tensor<3x5xf32>
      ...
    }
    ```
    Fails when the module has no gradients, or an option is out of its range.
  }];
  let options = [
    Option<"maxGradNorm", "max-grad-norm", "double", "1.0", "Clip gradients to this global norm; 0 does not clip">,
    Option<"beta1", "beta1", "double", "0.9", "Decay of the first moment, in [0, 1)">,
    Option<"beta2", "beta2", "double", "0.95", "Decay of the second moment, in [0, 1)">,
    Option<"epsilon", "epsilon", "double", "1e-8", "Added to the root of the second moment, above 0">,
    Option<"weightDecay", "weight-decay", "double", "0.1", "Decoupled weight decay, at least 0">,
  ];
  let statistics = [
    Statistic<"numDecayed", "parameters-decayed", "Number of parameters with weight decay">,
    Statistic<"numUndecayed", "parameters-undecayed", "Number of parameters without">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::mlir::func::FuncDialect"];
}

def ScaleLoss : Pass<"tgpt-scale-loss", "::mlir::ModuleOp"> {
  let summary = "scale the loss before the backward, and skip steps whose gradients overflow";
  let description = [{
    The backward starts from the loss scale instead of 1, so that small gradients do not
    vanish in a 16-bit type; the update divides it out again. A gradient that overflows
    makes the squared norm of all gradients infinite or NaN: then the step is skipped, on
    every rank since all know that norm. Moments and step count are those of the steps
    that were not skipped.

    **Input**
    ```mlir
    func.func @micro_batch(%tokens, %labels) {
      ... forward ...
      tgpt.begin_backward
      %seed = tgpt.fill {value = 1.0 : f64} : () -> tensor<f32>
      ...
    }
    func.func @update(%lr, %step) -> (%loss, %grad_norm, %token_count) {
      ...
      %norm, %scale = tgpt.clip_scale %n, %count {max_norm = 1.0 : f64} : ...
      %p1, %m1, %v1 = tgpt.adamw %p, %g, %m, %v, %scale, %lr, %step {...} : ...
      ...
    }
    ```
    **Output**
    ```mlir
    tgpt.state scaling @loss_scale : tensor<f32> {initial = 65536.0 : f64}
    tgpt.state scaling @good_steps : tensor<f32>
    tgpt.state scaling @skipped_steps : tensor<f32>
    func.func @micro_batch(%tokens, %labels) {
      ... forward ...
      tgpt.begin_backward
      %seed = tgpt.read @loss_scale : tensor<f32>
      ...
    }
    func.func @update(%lr, %step) -> (%loss, %grad_norm, %token_count, %loss_scale, %skipped_steps) {
      ...
      %loss_scale = tgpt.read @loss_scale : tensor<f32>
      ...
      %scale1, %good1, %skipped1, %applied = tgpt.adjust_loss_scale %n, %loss_scale, %good, %skipped, %step {...} : ...
      tgpt.write %scale1, @loss_scale : tensor<f32>
      ...
      %norm, %scale = tgpt.clip_scale %n, %count, %loss_scale {max_norm = 1.0 : f64} : ...
      %p1, %m1, %v1 = tgpt.adamw %p, %g, %m, %v, %scale, %lr, %applied {...} : ...
      ...
    }
    ```
    A fixed scale is a tgpt.fill of its value in both functions, and only the skipped
    steps are a state.

    Fails when an option is out of its range, the module has a loss scale already, or it
    has not one seed, fill of 1, of the backward and one tgpt.clip_scale.
  }];
  let options = [
    Option<"initial", "initial", "double", "65536", "Scale of the first step, above 0">,
    Option<"fixed", "fixed", "bool", "false", "Keep the scale of the first step; growth and backoff do not apply">,
    Option<"growth", "growth", "double", "2", "Factor after growth-interval good steps in a row, at least 1">,
    Option<"backoff", "backoff", "double", "0.5", "Factor after a skipped step, above 0 and at most 1">,
    Option<"growthInterval", "growth-interval", "int64_t", "2000", "Good steps in a row before the scale grows">,
  ];
  let statistics = [
    Statistic<"numGuarded", "parameters-guarded", "Number of optimizer ops that do nothing in a skipped step">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::mlir::func::FuncDialect"];
}

def CanonicalReduction : Pass<"tgpt-canonical-reduction", "::mlir::ModuleOp"> {
  let summary = "write every sum of a step as one that no grid adds in another order";
  let description = [{
    After it a step's sums are trees over chunks, samples and micro-batches, in which
    whatever one rank holds lies together; so every grid gives the bits of one rank. Marks
    the module `tgpt.reduction = "canonical"`, which later passes heed: a partial sum is
    reduced before it is added to another, collectives add in a tree, and the squared
    norms of all gradients are added in the order of the model on every stage.

    **Input**
    ```mlir
    %dx, %dw = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (...) -> (tensor<2x8x4xf32>, tensor<4xf32>)
    tgpt.accumulate %dw, @w.gradient : tensor<4xf32>
    ```
    **Output** (`micro-batches=4`)
    ```mlir
    tgpt.state gradient @w.gradient.carry.0 of @w : tensor<4xf32> {transient}
    %dx, %dws = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (...) -> (tensor<2x8x4xf32>, tensor<2x4xf32>)
    %dw = tgpt.sum_leading %dws : (tensor<2x4xf32>) -> tensor<4xf32>
    tgpt.accumulate %dw, @w.gradient carry [@w.gradient.carry.0] at %micro_batch of 4 : tensor<4xf32>, tensor<i32>
    ```
    Several accumulates of one state (a tied weight) get a state each, and sums of
    `linear_dgrad` become one op. Where the samples of a rank in a step are no power of two, they
    are several nodes of the tree over all samples (cost/SumNodes.h): the accumulator and
    its carries keep a sum of each, and `@update` reads their list:
    ```mlir
    tgpt.accumulate %dw, @w.gradient carry [@w.gradient.carry.0, ...] at %samples of 3 nodes_of 2 : ...
    ...
    %g = tgpt.read @w.gradient : tensor<4xf32>
    %g0 = tgpt.read @w.gradient.carry.0 : tensor<4xf32>
    %sum = tgpt.join_nodes %g, %g0 addends 3 : tensor<4xf32>
    ```
    A micro-batch whose samples are no power of two is added up in parts (`tgpt.part`). Fails on
    bf16 and f16, whose partial sums would be rounded, and where tp does not divide `chunks`.
  }];
  let options = [
    Option<"chunks", "chunks", "int64_t", "8", "Chunks of a dim that tensor parallelism may shard: a multiple of tp">,
    Option<"dp", "dp", "int64_t", "1", "Data-parallel ranks">,
    Option<"tp", "tp", "int64_t", "1", "Tensor-parallel ranks">,
    Option<"microBatches", "micro-batches", "int64_t", "1", "Micro-batches of a step and dp rank">,
  ];
  let statistics = [
    Statistic<"numJoined", "sums-joined", "Number of sums of products written as one">,
    Statistic<"numSeparated", "uses-separated", "Number of uses of a tied weight with an accumulator of their own">,
    Statistic<"numCarries", "carries", "Number of states added for sums of micro-batches that wait for others">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::mlir::func::FuncDialect"];
}

#endif // TGPT_PASSES_TRAINING_PASSES_TD
