//===- ModelOps.td - the forward of GPT and LLaMA families ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_TGPT_MODELOPS_TD
#define TGPT_DIALECTS_TGPT_MODELOPS_TD

include "dialects/tgpt/TgptDialect.td"

class Tgpt_ForwardFormat<string mnemonic, list<Trait> traits = [], list<string> kernelMethods = [],
                         list<string> costMethods = ["getFlops"]>
    : Tgpt_ForwardOp<mnemonic, traits, kernelMethods, costMethods> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Tgpt_EmbeddingOp : Tgpt_ForwardFormat<"embedding", [], ["getShardOffsets"], ["getFlops", "getBytesRead"]> {
  let summary = "look up a row of the table for each token";
  let description = [{
    `y[b,s,:] = table[ids[b,s],:]`. Rule `bs,vd->bsd`: with the vocabulary sharded a
    rank gives zeros for rows it does not hold, so the result is partial.
  }];
  let arguments = (ins Tgpt_TokenTensor:$ids, Tgpt_Tensor:$table);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_LinearOp : Tgpt_ForwardFormat<"linear"> {
  let summary = "multiply rows by a weight, add a bias";
  let description = [{
    `y = x w^T + bias`, w is [n, k] as in torch. Rule `..k,nk[,n]->..n`; k is blocked
    when there is a bias, since a partial sum would count the bias once a rank.
  }];
  let arguments = (ins Tgpt_Tensor:$input, Tgpt_Tensor:$weight, Optional<Tgpt_Tensor>:$bias);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_RmsNormOp : Tgpt_ForwardFormat<"rms_norm"> {
  let summary = "scale rows to unit root mean square";
  let description = [{
    `rstd = 1/sqrt(mean(x^2) + epsilon)`, `y = x rstd w` (arXiv 1910.07467). Rule
    `..d,d->..d,..`, d blocked.
  }];
  let arguments = (ins Tgpt_Tensor:$input, Tgpt_Tensor:$weight, F64Attr:$epsilon);
  let results = (outs Tgpt_Tensor:$output, Tgpt_AccTensor:$rstd);
}

def Tgpt_LayerNormOp : Tgpt_ForwardFormat<"layer_norm"> {
  let summary = "scale rows to zero mean and unit variance";
  let description = [{
    `y = (x - mean) rstd w + bias`, biased variance (arXiv 1607.06450). Rule
    `..d,d,d->..d,..,..`, d blocked.
  }];
  let arguments = (ins Tgpt_Tensor:$input, Tgpt_Tensor:$weight, Tgpt_Tensor:$bias, F64Attr:$epsilon);
  let results = (outs Tgpt_Tensor:$output, Tgpt_AccTensor:$mean, Tgpt_AccTensor:$rstd);
}

def Tgpt_RopeOp : Tgpt_ForwardFormat<"rope"> {
  let summary = "rotate pairs of head elements by an angle that grows with the position";
  let description = [{
    Elements i and i + c/2 of each head turn by `p theta^(-2i/c)` at position p
    (arXiv 2104.09864; half-split pairs as in Hugging Face LLaMA), backwards when `inverse`.
    Rule `bsh->bsh`, s blocked, h in units of `head_dim` elements.
  }];
  let arguments = (ins Tgpt_Tensor:$input, I64Attr:$head_dim, F64Attr:$theta, DefaultValuedAttr<BoolAttr, "false">:$inverse);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_AttentionOp : Tgpt_ForwardFormat<"attention"> {
  let summary = "softmax(scale q k^T + mask) v for each head";
  let description = [{
    Query head i reads KV head `i / (h/g)` (grouped-query attention, arXiv 2305.13245). Also gives
    the log-sum-exp of each row for the backward (arXiv 2205.14135). Rule
    `bsh,bsh,bsh->bsh,bhs`: heads of q, k and v are sharded together, in units of
    `head_dim`; s is blocked.
  }];
  let arguments = (ins Tgpt_Tensor:$query, Tgpt_Tensor:$key, Tgpt_Tensor:$value, I64Attr:$head_dim, F64Attr:$scale,
                       DefaultValuedAttr<BoolAttr, "true">:$causal);
  let results = (outs Tgpt_Tensor:$output, Tgpt_AccTensor:$lse);
}

def Tgpt_GeluOp : Tgpt_ForwardFormat<"gelu"> {
  let summary = "GELU, tanh approximation";
  let description = [{ `0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))` (arXiv 1606.08415), elementwise. }];
  let arguments = (ins Tgpt_Tensor:$input);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_SwigluOp : Tgpt_ForwardFormat<"swiglu"> {
  let summary = "gate sigmoid(gate) up";
  let description = [{ arXiv 2002.05202, elementwise. }];
  let arguments = (ins Tgpt_Tensor:$gate, Tgpt_Tensor:$up);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_AddOp : Tgpt_ForwardFormat<"add", [], ["getInPlaceOperand"]> {
  let summary = "x + y, y broadcast over the leading dims of x";
  let description = [{
    Residual connections, biases, position tables. Linear in both operands together:
    partial operands give a partial result.
  }];
  let arguments = (ins Tgpt_Tensor:$lhs, Tgpt_Tensor:$rhs);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_CastOp : Tgpt_ForwardFormat<"cast"> {
  let summary = "round to another element type";
  let description = [{ Rounds to nearest even, elementwise. }];
  let arguments = (ins Tgpt_Tensor:$input);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_CrossEntropyOp : Tgpt_ForwardFormat<"cross_entropy", [], ["hasAccumulationType"]> {
  let summary = "sum of the token losses and number of valid tokens";
  let description = [{
    `loss_sum = sum over valid tokens of lse - logits[label]`; a negative label is not
    valid and counts nowhere. Rule `bsv,bs->,,bs`, v blocked: with the vocabulary to be
    sharded, `tgpt-split-loss` writes the op as row_max, softmax_sums and token_loss.
  }];
  let arguments = (ins Tgpt_Tensor:$logits, Tgpt_TokenTensor:$labels);
  let results = (outs Tgpt_Scalar:$loss_sum, Tgpt_Scalar:$token_count, Tgpt_AccTensor:$lse);
}

#endif // TGPT_DIALECTS_TGPT_MODELOPS_TD
