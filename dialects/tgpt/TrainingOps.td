//===- TrainingOps.td - sharded loss, clipping and optimizer ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Created by tgpt-add-optimizer (@begin and @update) and tgpt-split-loss, consumed
// by plan-lower, which makes one kernel call of each.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_TGPT_TRAININGOPS_TD
#define TGPT_DIALECTS_TGPT_TRAININGOPS_TD

include "dialects/tgpt/TgptDialect.td"

class Tgpt_TrainingOp<string mnemonic, list<Trait> traits = [], list<string> kernelMethods = []>
    : Tgpt_ComputeOp<mnemonic, traits, kernelMethods> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Cross-entropy in two steps, the first of which may be sharded over the vocabulary.
//===----------------------------------------------------------------------===//

def Tgpt_LossStatisticsOp : Tgpt_TrainingOp<"loss_statistics", [], ["getKernelAttributes", "getShardOffsets"]> {
  let summary = "what the loss needs of each part of the vocabulary";
  let description = [{
    The vocabulary is cut into equal parts, the first dim of the result; a part has two
    or three statistics of each token:
    - 0: `log sum exp` of the part's logits, minus infinity where all are padding;
    - 1: the label's logit where that column is in the part, else 0;
    - 2, only where labels are smoothed: the sum of the part's logits, divided by the
      size of the whole vocabulary, its share of the mean logit.

    Rule `abV,ab->Vkab`, k blocked: parts are sharded as columns are, so that a rank
    holds the statistics of its own parts and nothing is partial. Columns from
    `vocabulary` on are padding and left out.

    Lifespan: from tgpt-split-loss to plan-lower.

    ```mlir
    // args: %logits: tensor<2x8x256xf32>, %labels: tensor<2x8xi32>
    %statistics = tgpt.loss_statistics %logits, %labels : (tensor<2x8x256xf32>, tensor<2x8xi32>) -> tensor<4x2x2x8xf32>
    ```

    Constraints:
    - C1: the logits are [batch, sequence, vocabulary], the labels [batch, sequence], the
      result [part, statistic, batch, sequence].
    - C2: batch and sequence are equal.
    - C3: the result has the accumulation type A(T) of the logits.
    - C4: `vocabulary` is 1 to the number of columns of the logits.
    - C5: the number of parts divides the number of columns; there are 2 or 3 statistics.
  }];
  let arguments = (ins Tgpt_Tensor:$logits, Tgpt_TokenTensor:$labels, OptionalAttr<I64Attr>:$vocabulary);
  let results = (outs Tgpt_AccTensor:$statistics);
}

def Tgpt_TokenLossOp : Tgpt_TrainingOp<"token_loss", [ChunkedSum<>.T], ["getKernelAttributes", "getWorkspaceBytes"]> {
  let summary = "the loss, of the statistics of all parts of the vocabulary";
  let description = [{
    The last step of a sharded cross-entropy. With m the largest of a token's statistics
    0, `lse = m + log(sum over parts of exp(statistic 0 - m))`; the label's logit and the
    mean logit are the sums over parts of statistics 1 and 2. Attributes and results as
    those of `cross_entropy`. Rule `ab,ckab->,,ab`, c and k blocked: the parts of all
    ranks must be here.

    Lifespan: from tgpt-split-loss to plan-lower.

    ```mlir
    // args: %labels: tensor<2x8xi32>, %statistics: tensor<4x2x2x8xf32>
    %loss, %count, %lse = tgpt.token_loss %labels, %statistics : (tensor<2x8xi32>, tensor<4x2x2x8xf32>) -> (tensor<f32>, tensor<f32>, tensor<2x8xf32>)
    ```

    Constraints:
    - C1: the statistics are [part, statistic, batch, sequence], lse is [batch, sequence].
    - C2: batch and sequence are those of the labels.
    - C3: all but the labels have one element type.
    - C4: `label_smoothing` is at least 0 and below 1, `z_loss` finite and at least 0.
    - C5: there are 3 statistics where `label_smoothing` is not 0, else 2.
  }];
  let arguments = (ins Tgpt_TokenTensor:$labels, Tgpt_AccTensor:$statistics,
                       DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing, DefaultValuedAttr<F64Attr, "0.0">:$z_loss);
  let results = (outs Tgpt_Scalar:$loss_sum, Tgpt_Scalar:$token_count, Tgpt_AccTensor:$lse);
}

//===----------------------------------------------------------------------===//
// Gradient norm, clipping, optimizer: the update of a step.
//===----------------------------------------------------------------------===//

def Tgpt_SumSquaresOp : Tgpt_TrainingOp<"sum_squares", [ChunkedSum<>.T], ["getKernelAttributes", "getWorkspaceBytes"]> {
  let summary = "one gradient's share of the squared gradient norm";
  let description = [{
    The sum of the squares of all elements. Every factor is a reduction: a sharded
    input gives a partial scalar.

    Lifespan: from tgpt-add-optimizer to plan-lower.

    ```mlir
    // args: %gradient: tensor<256x64xf32>
    %squares = tgpt.sum_squares %gradient : (tensor<256x64xf32>) -> tensor<f32>
    ```

    Constraints:
    - C1: the result has the input's element type.
  }];
  let arguments = (ins Tgpt_AccTensor:$input);
  let results = (outs Tgpt_Scalar:$output);
}

def Tgpt_AddNOp : Tgpt_TrainingOp<"add_n", [], ["getInPlaceOperand", "getWorkspaceBytes"]> {
  let summary = "sum of equal-shaped values, in operand order";
  let description = [{
    Gradients of a value with several uses; squared norms of all gradients. Linear in
    all operands together: equally partial operands give a partial result.

    Lifespan: from tgpt-differentiate and tgpt-add-optimizer to plan-lower.
    Canonicalization forwards a single operand and flattens a sum whose only use is
    another sum of the same block.

    ```mlir
    // args: %a: tensor<2x8x64xf32>, %b: tensor<2x8x64xf32>, %c: tensor<2x8x64xf32>
    %sum = tgpt.add_n %a, %b, %c : (tensor<2x8x64xf32>, tensor<2x8x64xf32>, tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
    ```

    Constraints:
    - C1: there is an operand at least.
    - C2: operands and result have one shape and element type.
  }];
  let arguments = (ins Variadic<Tgpt_Tensor>:$inputs);
  let results = (outs Tgpt_Tensor:$output);
  let hasCanonicalizer = 1;
}

def Tgpt_JoinNodesOp : Tgpt_Op<"join_nodes", [Pure,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule"]>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops", "getBytesRead", "getBytesWritten"]>]> {
  let summary = "the nodes of a rank's part of a sum, taken for that part";
  let description = [{
    A rank whose part of a sum is no node of the tree of additions keeps a list of
    nodes (cost/SumNodes.h). For the types it is its part of the sum: the result is
    partial as the operands are. Added is only when all ranks' nodes meet. `addends` is
    the number of addends of a rank, or what is left of it without factors of 2.

    Lifespan: from tgpt-canonical-reduction (sums over samples) and
    dist-chunk-reductions (over chunks) to dist-exchange-nodes.

    ```mlir
    // args: %a: tensor<64xf32>, %b: tensor<64xf32>
    %sum = tgpt.join_nodes %a, %b addends 3 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    ```

    Constraints:
    - C1: there are two operands at least, and no more than nodes of so many addends.
    - C2: operands and result have one type.
  }];
  let arguments = (ins Variadic<Tgpt_Tensor>:$nodes, I64Attr:$addends);
  let results = (outs Tgpt_Tensor:$output);
  let assemblyFormat = "$nodes `addends` custom<Count>($addends) attr-dict `:` functional-type($nodes, results)";
  let hasVerifier = 1;
}

def Tgpt_SumNodesOp : Tgpt_TrainingOp<"sum_nodes"> {
  let summary = "add up the nodes of all ranks in the tree of additions";
  let description = [{
    Row r * `nodes` + i of the input is node i of the `addends` addends of rank r
    (cost/SumNodes.h); the result is their sum. Rows beyond a rank's nodes are not read.
    Rule `aT->T`.

    Lifespan: from dist-exchange-nodes to plan-lower.

    ```mlir
    // args: %rows: tensor<4x64xf32>
    %sum = tgpt.sum_nodes %rows {addends = 3, nodes = 2} : (tensor<4x64xf32>) -> tensor<64xf32>
    ```

    Constraints:
    - C1: the result's shape is the input's without the first dim; element types are equal.
    - C2: `nodes` are the most that any rank has of `addends`, and divide the first dim.
  }];
  let arguments = (ins Tgpt_Tensor:$input, I64Attr:$addends, I64Attr:$nodes);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_ClipScaleOp : Tgpt_TrainingOp<"clip_scale"> {
  let summary = "gradient norm, and the factor that averages and clips the gradients";
  let description = [{
    With n = count, or count x loss_scale where the gradients are those of the scaled
    loss: `grad_norm = sqrt(norm_squared)/n`;
    `scale = min(1, max_norm/(grad_norm + 1e-6))/n`, as torch's clip_grad_norm_. `max_norm` 0 does not clip.

    Lifespan: from tgpt-add-optimizer to plan-lower.

    ```mlir
    // args: %squares: tensor<f32>, %count: tensor<f32>
    %norm, %scale = tgpt.clip_scale %squares, %count {max_norm = 1.0 : f64} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    ```

    Constraints:
    - C1: operands and results have one element type.
    - C2: `max_norm` is finite and at least 0.
  }];
  let arguments = (ins Tgpt_Scalar:$norm_squared, Tgpt_Scalar:$token_count, Optional<Tgpt_Scalar>:$loss_scale,
                       F64Attr:$max_norm);
  let results = (outs Tgpt_Scalar:$grad_norm, Tgpt_Scalar:$scale);
}

def Tgpt_AdjustLossScaleOp : Tgpt_TrainingOp<"adjust_loss_scale", [], ["getInPlaceOperand"]> {
  let summary = "whether the step counts, and the loss scale of the next one";
  let description = [{
    A gradient that overflowed makes its squared norm infinite or NaN, on every rank
    alike since it is summed over all of them. Then the step is skipped, the scale is
    multiplied by `backoff` and the good steps start anew. Otherwise the step counts;
    after `growth_interval` good steps in a row the scale is multiplied by `growth` and
    they start anew, as in torch.amp.GradScaler. The scale stays a normal, finite number.
    `applied_step` is the number of the optimizer's step, `step` less the skipped ones;
    0, which makes `adamw` do nothing, where this one is skipped.

    Lifespan: from tgpt-scale-loss to plan-lower.

    ```mlir
    // args: %squares: tensor<f32>, %scale: tensor<f32>, %good: tensor<f32>, %skipped: tensor<f32>, %step: tensor<f32>
    %scale1, %good1, %skipped1, %applied = tgpt.adjust_loss_scale %squares, %scale, %good, %skipped, %step {backoff = 0.5 : f64, growth = 2.0 : f64, growth_interval = 2000 : i64} : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
    ```

    Constraints:
    - C1: operands and results have one element type.
    - C2: `backoff` is above 0 and at most 1.
    - C3: `growth` is finite and at least 1.
    - C4: `growth_interval` is at least 1.
  }];
  let arguments = (ins Tgpt_Scalar:$norm_squared, Tgpt_Scalar:$loss_scale, Tgpt_Scalar:$good_steps,
                       Tgpt_Scalar:$skipped_steps, Tgpt_Scalar:$step, F64Attr:$backoff, F64Attr:$growth,
                       I64Attr:$growth_interval);
  let results = (outs Tgpt_Scalar:$new_loss_scale, Tgpt_Scalar:$new_good_steps, Tgpt_Scalar:$new_skipped_steps,
                      Tgpt_Scalar:$applied_step);
}

def Tgpt_DivideOp : Tgpt_TrainingOp<"divide"> {
  let summary = "x / y, 0 where y is 0";
  let description = [{
    On scalars: the mean loss, which is 0 where no token is valid.

    Lifespan: from tgpt-add-optimizer to plan-lower.

    ```mlir
    // args: %loss_sum: tensor<f32>, %count: tensor<f32>
    %loss = tgpt.divide %loss_sum, %count : (tensor<f32>, tensor<f32>) -> tensor<f32>
    ```

    Constraints:
    - C1: operands and result have one element type.
  }];
  let arguments = (ins Tgpt_Scalar:$lhs, Tgpt_Scalar:$rhs);
  let results = (outs Tgpt_Scalar:$output);
}

def Tgpt_AdamWOp : Tgpt_TrainingOp<"adamw", [], ["getInPlaceOperand"]> {
  let summary = "one optimizer step of one parameter, with decoupled weight decay";
  let description = [{
    Decoupled weight decay (arXiv 1711.05101), bias-corrected moments; `gradient` is
    multiplied by `scale` first; `step` counts from 1. At `step` 0 nothing is done: the
    results have the bits of parameter and moments. Elementwise; may overwrite parameter
    and moments.

    Lifespan: from tgpt-add-optimizer to plan-lower. In bf16 and f16 training the
    parameter here is the master copy in f32.

    ```mlir
    // args: %p: tensor<64xf32>, %g: tensor<64xf32>, %m: tensor<64xf32>, %v: tensor<64xf32>, %scale: tensor<f32>, %lr: tensor<f32>, %step: tensor<f32>
    %p1, %m1, %v1 = tgpt.adamw %p, %g, %m, %v, %scale, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
    ```

    Constraints:
    - C1: parameter, gradient, moments and results have one shape.
    - C2: all operands and results have one element type.
    - C3: `beta1` and `beta2` are at least 0 and below 1.
    - C4: `epsilon` and `weight_decay` are finite and at least 0.
  }];
  let arguments = (ins Tgpt_AccTensor:$parameter, Tgpt_AccTensor:$gradient, Tgpt_AccTensor:$moment1, Tgpt_AccTensor:$moment2,
                       Tgpt_Scalar:$scale, Tgpt_Scalar:$learning_rate, Tgpt_Scalar:$step,
                       F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$weight_decay);
  let results = (outs Tgpt_AccTensor:$new_parameter, Tgpt_AccTensor:$new_moment1, Tgpt_AccTensor:$new_moment2);
}

def Tgpt_FillOp : Tgpt_TrainingOp<"fill"> {
  let summary = "a tensor of one value";
  let description = [{
    Any factor may be sharded. A fill of 0 may also stand for a partial value: the
    addends of 0 are 0.

    Lifespan: from tgpt-differentiate (the 1 that the backward starts from) and
    tgpt-add-optimizer (the zeros of @begin) to plan-lower.

    ```mlir
    %zeros = tgpt.fill {value = 0.0 : f64} : () -> tensor<256x64xf32>
    ```

    Constraints:
    - C1: the result has a static shape.
  }];
  let arguments = (ins F64Attr:$value);
  let results = (outs Tgpt_Tensor:$output);
  let assemblyFormat = "attr-dict `:` functional-type(operands, results)";
}

#endif // TGPT_DIALECTS_TGPT_TRAININGOPS_TD
