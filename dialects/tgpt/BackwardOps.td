//===- BackwardOps.td - the backward of the model ops ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Created by tgpt-differentiate. Gradients of parameters have the accumulator's
// element type (f64, else f32); gradients of activations have the activation's.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_TGPT_BACKWARDOPS_TD
#define TGPT_DIALECTS_TGPT_BACKWARDOPS_TD

include "dialects/tgpt/TgptDialect.td"

class Tgpt_BackwardOp<string mnemonic, list<Trait> traits = [], list<string> kernelMethods = []>
    : Tgpt_ComputeOp<mnemonic, traits, kernelMethods> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Tgpt_EmbeddingGradOp : Tgpt_BackwardOp<"embedding_grad", [], ["getShardOffsets", "canAccumulate"]> {
  let summary = "add each token's gradient to its row of the table";
  let description = [{
    Rule `bs,bsd->vd`. The row count is that of the result; v is in the result only:
    a rank adds the rows it holds.
  }];
  let arguments = (ins Tgpt_TokenTensor:$ids, Tgpt_Tensor:$output_grad);
  let results = (outs Tgpt_AccTensor:$table_grad);
}

def Tgpt_LinearDgradOp : Tgpt_BackwardOp<"linear_dgrad"> {
  let summary = "gradient of a linear's input";
  let description = [{ `dx = dy w`. Rule `..n,nk->..k`. }];
  let arguments = (ins Tgpt_Tensor:$output_grad, Tgpt_Tensor:$weight);
  let results = (outs Tgpt_Tensor:$input_grad);
}

def Tgpt_LinearWgradOp : Tgpt_BackwardOp<"linear_wgrad", [], ["canAccumulate"]> {
  let summary = "gradient of a linear's weight";
  let description = [{ `dw = dy^T x`. Rule `..n,..k->nk`: the rows are a reduction. }];
  let arguments = (ins Tgpt_Tensor:$output_grad, Tgpt_Tensor:$input);
  let results = (outs Tgpt_AccTensor:$weight_grad);
}

def Tgpt_SumLeadingOp : Tgpt_BackwardOp<"sum_leading", [], ["canAccumulate"]> {
  let summary = "sum over leading dims";
  let description = [{
    Gradient of a value that was broadcast: a bias, a position table. The result's
    shape is the trailing dims of the input. Rule `abT->T`, linear.
  }];
  let arguments = (ins Tgpt_Tensor:$input);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_RmsNormGradOp : Tgpt_BackwardOp<"rms_norm_grad", [], ["canAccumulate"]> {
  let summary = "gradients of rms_norm";
  let description = [{ Rule `..d,..d,d,..->..d,d`, d blocked: the weight's gradient sums over the rows. }];
  let arguments = (ins Tgpt_Tensor:$output_grad, Tgpt_Tensor:$input, Tgpt_Tensor:$weight, Tgpt_AccTensor:$rstd);
  let results = (outs Tgpt_Tensor:$input_grad, Tgpt_AccTensor:$weight_grad);
}

def Tgpt_LayerNormGradOp : Tgpt_BackwardOp<"layer_norm_grad", [], ["canAccumulate"]> {
  let summary = "gradients of layer_norm";
  let description = [{ Rule `..d,..d,d,..,..->..d,d,d`, d blocked. }];
  let arguments = (ins Tgpt_Tensor:$output_grad, Tgpt_Tensor:$input, Tgpt_Tensor:$weight, Tgpt_AccTensor:$mean,
                       Tgpt_AccTensor:$rstd);
  let results = (outs Tgpt_Tensor:$input_grad, Tgpt_AccTensor:$weight_grad, Tgpt_AccTensor:$bias_grad);
}

def Tgpt_AttentionGradOp : Tgpt_BackwardOp<"attention_grad"> {
  let summary = "gradients of attention, recomputing the probabilities from the log-sum-exp";
  let description = [{ Rule `bsh,bsh,bsh,bsh,bsh,bhs->bsh,bsh,bsh` as in attention. }];
  let arguments = (ins Tgpt_Tensor:$output_grad, Tgpt_Tensor:$query, Tgpt_Tensor:$key, Tgpt_Tensor:$value, Tgpt_Tensor:$output,
                       Tgpt_AccTensor:$lse, I64Attr:$head_dim, F64Attr:$scale, DefaultValuedAttr<BoolAttr, "true">:$causal);
  let results = (outs Tgpt_Tensor:$query_grad, Tgpt_Tensor:$key_grad, Tgpt_Tensor:$value_grad);
}

def Tgpt_GeluGradOp : Tgpt_BackwardOp<"gelu_grad", [], ["getInPlaceOperand"]> {
  let summary = "gradient of gelu";
  let description = [{ Elementwise. }];
  let arguments = (ins Tgpt_Tensor:$output_grad, Tgpt_Tensor:$input);
  let results = (outs Tgpt_Tensor:$input_grad);
}

def Tgpt_SwigluGradOp : Tgpt_BackwardOp<"swiglu_grad"> {
  let summary = "gradients of swiglu";
  let description = [{ Elementwise. }];
  let arguments = (ins Tgpt_Tensor:$output_grad, Tgpt_Tensor:$gate, Tgpt_Tensor:$up);
  let results = (outs Tgpt_Tensor:$gate_grad, Tgpt_Tensor:$up_grad);
}

def Tgpt_CrossEntropyGradOp : Tgpt_BackwardOp<"cross_entropy_grad", [], ["getShardOffsets", "getInPlaceOperand"]> {
  let summary = "gradient of the logits: softmax minus one-hot";
  let description = [{
    `dloss (exp(logits - lse) - [label])`, 0 for an ignored token. Rule
    `bsv,bs,bs,->bsv`: local whatever shards the vocabulary.
  }];
  let arguments = (ins Tgpt_Tensor:$logits, Tgpt_TokenTensor:$labels, Tgpt_AccTensor:$lse, Tgpt_Scalar:$loss_grad);
  let results = (outs Tgpt_Tensor:$logits_grad);
}

#endif // TGPT_DIALECTS_TGPT_BACKWARDOPS_TD
