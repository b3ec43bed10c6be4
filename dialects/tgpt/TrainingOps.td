//===- TrainingOps.td - sharded loss, clipping and optimizer ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
// Cross-entropy in three steps, each of which may be sharded over the vocabulary.
//===----------------------------------------------------------------------===//

def Tgpt_RowMaxOp : Tgpt_TrainingOp<"row_max"> {
  let summary = "maximum of each row";
  let description = [{ Rule `bsv->bs`; a sharded v leaves the result partial (max). }];
  let arguments = (ins Tgpt_Tensor:$logits);
  let results = (outs Tgpt_AccTensor:$maximum);
}

def Tgpt_SoftmaxSumsOp : Tgpt_TrainingOp<"softmax_sums", [], ["getShardOffsets"]> {
  let summary = "sum of exp(logit - max) of each row, and the label's logit";
  let description = [{
    Rule `bsv,bs,bs->bs,bs`; a sharded v leaves both results partial: the label's
    logit is 0 on ranks that do not hold it.
  }];
  let arguments = (ins Tgpt_Tensor:$logits, Tgpt_TokenTensor:$labels, Tgpt_AccTensor:$maximum);
  let results = (outs Tgpt_AccTensor:$sum_exp, Tgpt_AccTensor:$label_logit);
}

def Tgpt_TokenLossOp : Tgpt_TrainingOp<"token_loss"> {
  let summary = "sum of max + log(sum_exp) - label_logit over valid tokens";
  let description = [{ Rule `bs,bs,bs,bs->,,bs`. }];
  let arguments = (ins Tgpt_TokenTensor:$labels, Tgpt_AccTensor:$maximum, Tgpt_AccTensor:$sum_exp, Tgpt_AccTensor:$label_logit);
  let results = (outs Tgpt_Scalar:$loss_sum, Tgpt_Scalar:$token_count, Tgpt_AccTensor:$lse);
}

//===----------------------------------------------------------------------===//
// Gradient norm, clipping, optimizer: the update of a step.
//===----------------------------------------------------------------------===//

def Tgpt_SumSquaresOp : Tgpt_TrainingOp<"sum_squares"> {
  let summary = "sum of the squares of all elements";
  let description = [{ Every factor is a reduction: a sharded input gives a partial scalar. }];
  let arguments = (ins Tgpt_AccTensor:$input);
  let results = (outs Tgpt_Scalar:$output);
}

def Tgpt_AddNOp : Tgpt_TrainingOp<"add_n", [], ["getInPlaceOperand"]> {
  let summary = "sum of equal-shaped values, in operand order";
  let description = [{ Linear in all operands together. }];
  let arguments = (ins Variadic<Tgpt_Tensor>:$inputs);
  let results = (outs Tgpt_Tensor:$output);
  let hasCanonicalizer = 1;
}

def Tgpt_ClipScaleOp : Tgpt_TrainingOp<"clip_scale"> {
  let summary = "gradient norm, and the factor that averages and clips the gradients";
  let description = [{
    `grad_norm = sqrt(norm_squared)/count`;
    `scale = min(1, max_norm/(grad_norm + 1e-6))/count`, as torch's clip_grad_norm_. `max_norm` 0 does not clip.
  }];
  let arguments = (ins Tgpt_Scalar:$norm_squared, Tgpt_Scalar:$token_count, F64Attr:$max_norm);
  let results = (outs Tgpt_Scalar:$grad_norm, Tgpt_Scalar:$scale);
}

def Tgpt_DivideOp : Tgpt_TrainingOp<"divide"> {
  let summary = "x / y, 0 where y is 0";
  let description = [{ Elementwise, on scalars: the mean loss. }];
  let arguments = (ins Tgpt_Scalar:$lhs, Tgpt_Scalar:$rhs);
  let results = (outs Tgpt_Scalar:$output);
}

def Tgpt_AdamWOp : Tgpt_TrainingOp<"adamw", [], ["getInPlaceOperand"]> {
  let summary = "one AdamW step of one parameter";
  let description = [{
    Decoupled weight decay (arXiv 1711.05101), bias-corrected moments; `gradient` is
    multiplied by `scale` first; `step` counts from 1. Elementwise.
  }];
  let arguments = (ins Tgpt_AccTensor:$parameter, Tgpt_AccTensor:$gradient, Tgpt_AccTensor:$moment1, Tgpt_AccTensor:$moment2,
                       Tgpt_Scalar:$scale, Tgpt_Scalar:$learning_rate, Tgpt_Scalar:$step,
                       F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$weight_decay);
  let results = (outs Tgpt_AccTensor:$new_parameter, Tgpt_AccTensor:$new_moment1, Tgpt_AccTensor:$new_moment2);
}

def Tgpt_FillOp : Tgpt_TrainingOp<"fill"> {
  let summary = "a tensor of one value";
  let description = [{ Any factor may be sharded. A fill of 0 may also stand for a partial value. }];
  let arguments = (ins F64Attr:$value);
  let results = (outs Tgpt_Tensor:$output);
}

#endif // TGPT_DIALECTS_TGPT_TRAININGOPS_TD
