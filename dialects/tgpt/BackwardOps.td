//===- BackwardOps.td - the backward of the model ops ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Created by tgpt-differentiate after tgpt.begin_backward, consumed by plan-lower,
// which makes one kernel call of each. Gradients of parameters have the accumulation
// type A(T) (f64, else f32) and may be added to their state by the kernel itself;
// gradients of activations have the activation's type T.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_TGPT_BACKWARDOPS_TD
#define TGPT_DIALECTS_TGPT_BACKWARDOPS_TD

include "dialects/tgpt/TgptDialect.td"

class Tgpt_BackwardOp<string mnemonic, list<Trait> traits = [], list<string> kernelMethods = [],
                      list<string> costMethods = ["getFlops"]>
    : Tgpt_ComputeOp<mnemonic, traits, kernelMethods, costMethods> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Tgpt_EmbeddingGradOp : Tgpt_BackwardOp<"embedding_grad", [ParameterGradient, ChunkedSum<>.T], ["getShardOffsets", "canAccumulate"]> {
  let summary = "add each token's gradient to its row of the table";
  let description = [{
    Rule `ab,abD->VD`. The row count is that of the result; V is in the result only:
    a rank adds the rows it holds.

    Lifespan: from tgpt-differentiate, for `embedding`, to plan-lower.

    ```mlir
    // args: %ids: tensor<2x8xi32>, %dx: tensor<2x8x64xf32>
    %dtable = tgpt.embedding_grad %ids, %dx : (tensor<2x8xi32>, tensor<2x8x64xf32>) -> tensor<256x64xf32>
    ```

    Constraints:
    - C1: output_grad is [batch, sequence, width], the result [vocabulary, width].
    - C2: batch and sequence are those of the ids, the widths are equal.
    - C3: the result has the accumulation type A(T) of output_grad.
  }];
  let arguments = (ins Tgpt_TokenTensor:$ids, Tgpt_Tensor:$output_grad);
  let results = (outs Tgpt_AccTensor:$table_grad);
}

def Tgpt_LinearDgradOp : Tgpt_BackwardOp<"linear_dgrad", [ChunkedSum<["joinSum"]>.T], [], ["getFlops", "getModelFlops", "getKernelKind"]> {
  let summary = "gradient of a linear's input";
  let description = [{
    `dx = dy w`. Rule `..N,NK->..K`, linear in each operand: a sharded n leaves dx
    partial, and so does a partial dy.

    Lifespan: from tgpt-differentiate, for `linear`, to plan-lower.

    ```mlir
    // args: %dy: tensor<2x8x96xf32>, %w: tensor<96x64xf32>
    %dx = tgpt.linear_dgrad %dy, %w : (tensor<2x8x96xf32>, tensor<96x64xf32>) -> tensor<2x8x64xf32>
    ```

    Constraints:
    - C1: the weight has rank 2, the result the rank of output_grad.
    - C2: output_grad's last dim is the weight's n, the result's its k; the leading dims are equal.
    - C3: output_grad, weight and result have one element type.
  }];
  let arguments = (ins Tgpt_Tensor:$output_grad, Tgpt_Tensor:$weight);
  let results = (outs Tgpt_Tensor:$input_grad);
}

def Tgpt_LinearDgradSumOp : Tgpt_BackwardOp<"linear_dgrad_sum", [ChunkedSum<["joinSum"]>.T, SameVariadicOperandSize],
                                            [], ["getFlops", "getModelFlops", "getKernelKind"]> {
  let summary = "gradient of what several linears read, added up chunk by chunk";
  let description = [{
    `dx = sum over i of dy_i w_i`. A chunk of the sum holds that part of every n_i, so
    that a sharded n leaves dx partial once and not once a linear. Rule
    `..N,..N,NK,NK->..K`, the n_i being one factor.

    Lifespan: from tgpt-canonical-reduction, for sums of `linear_dgrad`, to plan-lower.

    ```mlir
    // args: %dq: tensor<2x8x64xf32>, %dk: tensor<2x8x32xf32>, %wq: tensor<64x48xf32>, %wk: tensor<32x48xf32>
    %dx = tgpt.linear_dgrad_sum %dq, %dk, %wq, %wk : (tensor<2x8x64xf32>, tensor<2x8x32xf32>, tensor<64x48xf32>, tensor<32x48xf32>) -> tensor<2x8x48xf32>
    ```

    Constraints:
    - C1: there are 1 to 8 gradients and as many weights; weights have rank 2, gradients the rank of the result.
    - C2: each gradient's last dim is its weight's n, the result's every weight's k; the leading dims are equal.
    - C3: all have one element type.
  }];
  let arguments = (ins Variadic<Tgpt_Tensor>:$output_grads, Variadic<Tgpt_Tensor>:$weights);
  let results = (outs Tgpt_Tensor:$input_grad);
}

def Tgpt_LinearWgradOp : Tgpt_BackwardOp<"linear_wgrad", [ParameterGradient, ChunkedSum<>.T], ["canAccumulate"], ["getFlops", "getModelFlops", "getKernelKind"]> {
  let summary = "gradient of a linear's weight";
  let description = [{
    `dw = dy^T x`. Rule `..N,..K->NK`: the rows are a reduction, so sharded rows
    (batch over dp) leave dw partial. Linear in each operand: a partial dy leaves dw
    partial too, which is summed up once a step instead of once a micro-batch.

    Lifespan: from tgpt-differentiate, for `linear`, to plan-lower.

    ```mlir
    // args: %dy: tensor<2x8x96xf32>, %x: tensor<2x8x64xf32>
    %dw = tgpt.linear_wgrad %dy, %x : (tensor<2x8x96xf32>, tensor<2x8x64xf32>) -> tensor<96x64xf32>
    ```

    Constraints:
    - C1: output_grad and input have one rank, the result rank 2.
    - C2: the result is [last dim of output_grad, last dim of input]; the leading dims are equal.
    - C3: input has output_grad's element type T, the result A(T).
  }];
  let arguments = (ins Tgpt_Tensor:$output_grad, Tgpt_Tensor:$input);
  let results = (outs Tgpt_AccTensor:$weight_grad);
}

def Tgpt_SumLeadingOp : Tgpt_BackwardOp<"sum_leading", [ParameterGradient, ChunkedSum<["sumBySample"]>.T], ["canAccumulate", "getWorkspaceBytes"]> {
  let summary = "gradient of what was broadcast: the sum over the leading dims";
  let description = [{
    For a bias or a position table. The result's shape is the trailing dims of the
    input. Rule `abT->T`, linear: a partial input gives a partial result.

    Lifespan: from tgpt-differentiate, for `linear` with a bias and a broadcasting
    `add`, to plan-lower.

    ```mlir
    // args: %dy: tensor<2x8x96xf32>
    %dbias = tgpt.sum_leading %dy : (tensor<2x8x96xf32>) -> tensor<96xf32>
    %dpositions = tgpt.sum_leading %dy : (tensor<2x8x96xf32>) -> tensor<8x96xf32>
    ```

    Constraints:
    - C1: the result's shape is the trailing dims of the input.
    - C2: the result has the accumulation type A(T) of the input.
  }];
  let arguments = (ins Tgpt_Tensor:$input);
  let results = (outs Tgpt_AccTensor:$output);
}

def Tgpt_SumPositionsOp : Tgpt_BackwardOp<"sum_positions", [ChunkedSum<>.T], ["getWorkspaceBytes"]> {
  let summary = "the sum over the positions of each sample";
  let description = [{
    Rule `abT->aT`: a sharded sequence leaves the result partial.

    Lifespan: from tgpt-canonical-reduction, for `sum_leading` over samples and
    positions, to plan-lower.

    ```mlir
    // args: %dy: tensor<2x8x96xf32>
    %sums = tgpt.sum_positions %dy : (tensor<2x8x96xf32>) -> tensor<2x96xf32>
    ```

    Constraints:
    - C1: the input is [batch, sequence, width], the result [batch, width].
    - C2: the result has the accumulation type A(T) of the input.
  }];
  let arguments = (ins Tgpt_Tensor:$input);
  let results = (outs Tgpt_AccTensor:$output);
}

def Tgpt_RmsNormGradOp : Tgpt_BackwardOp<"rms_norm_grad", [ChunkedSum<["sumBySample"]>.T], ["canAccumulate", "getWorkspaceBytes"]> {
  let summary = "gradients of a row's elements and of the weight, from the saved rstd";
  let description = [{
    With `g = dy w` and `xhat = x rstd`: `dx = rstd (g - xhat mean(g xhat))`, `dw = sum of dy xhat`.
    Rule `..D,..D,D,..->..D,D`, D blocked: the weight's gradient sums over the rows, or,
    as [batch, width], over the positions of each sample.

    Lifespan: from tgpt-differentiate, for `rms_norm`, to plan-lower.

    ```mlir
    // args: %dy: tensor<2x8x64xf32>, %x: tensor<2x8x64xf32>, %w: tensor<64xf32>, %rstd: tensor<2x8xf32>
    %dx, %dw = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (tensor<2x8x64xf32>, tensor<2x8x64xf32>, tensor<64xf32>, tensor<2x8xf32>) -> (tensor<2x8x64xf32>, tensor<64xf32>)
    ```

    Constraints:
    - C1: the input has a dim at least, the weight and its gradient one, rstd one less than the input.
    - C2: weight and gradient have the input's last dim, rstd its leading dims; the rest has its shape.
      A gradient [batch, width] has those of an input [batch, sequence, width].
    - C3: output_grad, weight and input_grad have the input's element type T, rstd and weight_grad have A(T).
  }];
  let arguments = (ins Tgpt_Tensor:$output_grad, Tgpt_Tensor:$input, Tgpt_Tensor:$weight, Tgpt_AccTensor:$rstd);
  let results = (outs Tgpt_Tensor:$input_grad, Tgpt_AccTensor:$weight_grad);
}

def Tgpt_HeadNormGradOp : Tgpt_BackwardOp<"head_norm_grad", [ChunkedSum<["sumBySample"]>.T], ["canAccumulate", "getWorkspaceBytes"]> {
  let summary = "gradients of a head's elements and of the weight of all heads";
  let description = [{
    As `rms_norm_grad`, head by head, with rstd computed anew. Rule `abH,abH,D->abH,D`,
    D blocked, H in units of the weight's size: the weight's gradient sums over rows and
    heads, so sharded heads leave it partial. Linear in output_grad. As [batch, c] it has
    a sum a sample.

    Lifespan: from tgpt-differentiate, for `head_norm`, to plan-lower.

    ```mlir
    // args: %dy: tensor<2x8x64xf32>, %q: tensor<2x8x64xf32>, %w: tensor<16xf32>
    %dq, %dw = tgpt.head_norm_grad %dy, %q, %w {epsilon = 1.0e-5 : f64} : (tensor<2x8x64xf32>, tensor<2x8x64xf32>, tensor<16xf32>) -> (tensor<2x8x64xf32>, tensor<16xf32>)
    ```

    Constraints:
    - C1: the input is [batch, sequence, heads x c], the weight [c].
    - C2: c divides the input's last dim; output_grad and input_grad have the input's shape, weight_grad the weight's,
      or a batch of them.
    - C3: output_grad, weight and input_grad have the input's element type T, weight_grad has A(T).
    - C4: `epsilon` is finite and at least 0.
  }];
  let arguments = (ins Tgpt_Tensor:$output_grad, Tgpt_Tensor:$input, Tgpt_Tensor:$weight, F64Attr:$epsilon);
  let results = (outs Tgpt_Tensor:$input_grad, Tgpt_AccTensor:$weight_grad);
}

def Tgpt_LayerNormGradOp : Tgpt_BackwardOp<"layer_norm_grad", [ChunkedSum<["sumBySample"]>.T], ["canAccumulate", "getWorkspaceBytes"]> {
  let summary = "gradients of a row's elements, the weight and the bias, from the saved mean and rstd";
  let description = [{
    With `g = dy w` and `xhat = (x - mean) rstd`: `dx = rstd (g - mean(g) - xhat mean(g xhat))`,
    `dw = sum of dy xhat`, `dbias = sum of dy`. Rule `..D,..D,D,..,..->..D,D,D`, D blocked. As
    [batch, width] the parameter gradients have a sum a sample.

    Lifespan: from tgpt-differentiate, for `layer_norm`, to plan-lower.

    ```mlir
    // args: %dy: tensor<2x8x64xf32>, %x: tensor<2x8x64xf32>, %w: tensor<64xf32>, %mean: tensor<2x8xf32>, %rstd: tensor<2x8xf32>
    %dx, %dw, %dbias = tgpt.layer_norm_grad %dy, %x, %w, %mean, %rstd : (tensor<2x8x64xf32>, tensor<2x8x64xf32>, tensor<64xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8x64xf32>, tensor<64xf32>, tensor<64xf32>)
    ```

    Constraints:
    - C1: the input has a dim at least, weight and parameter gradients one, mean and rstd one less than the input.
    - C2: weight and parameter gradients have the input's last dim, mean and rstd its leading dims; the rest has its shape.
      Gradients [batch, width] have those of an input [batch, sequence, width].
    - C3: output_grad, weight and input_grad have the input's element type T, the others have A(T).
  }];
  let arguments = (ins Tgpt_Tensor:$output_grad, Tgpt_Tensor:$input, Tgpt_Tensor:$weight, Tgpt_AccTensor:$mean,
                       Tgpt_AccTensor:$rstd);
  let results = (outs Tgpt_Tensor:$input_grad, Tgpt_AccTensor:$weight_grad, Tgpt_AccTensor:$bias_grad);
}

def Tgpt_AttentionGradOp : Tgpt_BackwardOp<"attention_grad", [ChunkedSum<>.T], ["getKernelAttributes", "getShardOffsets", "getWorkspaceBytes"],
                                         ["getFlops", "getModelFlops", "getKernelKind"]> {
  let summary = "gradients of query, key and value, recomputing the probabilities from the log-sum-exp";
  let description = [{
    `p = exp(scale q k^T - lse)`, `dv = p^T do`, `ds = p (do v^T - rowsum(do o)) scale`,
    `dq = ds k`, `dk = ds^T q`; a KV head sums over the query heads that read it. With
    dropout the mask m of the forward is drawn again: `dv = (p m)^T do`,
    `ds = p (m (do v^T) - rowsum(do o)) scale`.
    Rule `ab(HGD),ab(HGD),ab(HD),ab(HD),ab(HGD),a(HG)b->ab(HGD),ab(HD),ab(HD)`, factors
    as in attention: dk and dv lack G, so ranks that share out the query heads of a KV
    head hold addends of them.

    Lifespan: from tgpt-differentiate, for `attention`, to plan-lower.

    ```mlir
    // args: %do: tensor<2x8x64xf32>, %q: tensor<2x8x64xf32>, %k: tensor<2x8x32xf32>, %v: tensor<2x8x32xf32>, %o: tensor<2x8x64xf32>, %lse: tensor<2x4x8xf32>
    %dq, %dk, %dv = tgpt.attention_grad %do, %q, %k, %v, %o, %lse {head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<2x8x64xf32>, tensor<2x8x64xf32>, tensor<2x8x32xf32>, tensor<2x8x32xf32>, tensor<2x8x64xf32>, tensor<2x4x8xf32>) -> (tensor<2x8x64xf32>, tensor<2x8x32xf32>, tensor<2x8x32xf32>)
    ```

    Constraints:
    - C1 to C9: as in attention.
    - C4, also: each gradient has the shape of what it is the gradient of.
    - C5, also: each gradient has the query's element type.
  }];
  let arguments = (ins Tgpt_Tensor:$output_grad, Tgpt_Tensor:$query, Tgpt_Tensor:$key, Tgpt_Tensor:$value, Tgpt_Tensor:$output,
                       Tgpt_AccTensor:$lse, Variadic<RankedTensorOf<[I32]>>:$mask_inputs, I64Attr:$head_dim,
                       F64Attr:$scale, DefaultValuedAttr<BoolAttr, "true">:$causal,
                       DefaultValuedAttr<F64Attr, "0.0">:$dropout, OptionalAttr<StrAttr>:$stream,
                       DefaultValuedAttr<I64Attr, "0">:$seed);
  let results = (outs Tgpt_Tensor:$query_grad, Tgpt_Tensor:$key_grad, Tgpt_Tensor:$value_grad);
}

def Tgpt_GeluGradOp : Tgpt_BackwardOp<"gelu_grad", [], ["getInPlaceOperand"]> {
  let summary = "dy times the derivative of gelu at x";
  let description = [{
    Elementwise; may overwrite dy.

    Lifespan: from tgpt-differentiate, for `gelu`, to plan-lower.

    ```mlir
    // args: %dy: tensor<2x8x64xf32>, %x: tensor<2x8x64xf32>
    %dx = tgpt.gelu_grad %dy, %x : (tensor<2x8x64xf32>, tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
    ```

    Constraints:
    - C1: operands and result have one shape.
    - C2: operands and result have one element type.
  }];
  let arguments = (ins Tgpt_Tensor:$output_grad, Tgpt_Tensor:$input);
  let results = (outs Tgpt_Tensor:$input_grad);
}

def Tgpt_SwigluGradOp : Tgpt_BackwardOp<"swiglu_grad", [], ["getInPlaceOperand"]> {
  let summary = "gradients of the gate and of what it gates";
  let description = [{
    With `s = sigmoid(gate)`: `dup = dy gate s`, `dgate = dy up s (1 + gate (1 - s))`. Elementwise; may
    overwrite gate and up.

    Lifespan: from tgpt-differentiate, for `swiglu`, to plan-lower.

    ```mlir
    // args: %dy: tensor<2x8x96xf32>, %gate: tensor<2x8x96xf32>, %up: tensor<2x8x96xf32>
    %dgate, %dup = tgpt.swiglu_grad %dy, %gate, %up : (tensor<2x8x96xf32>, tensor<2x8x96xf32>, tensor<2x8x96xf32>) -> (tensor<2x8x96xf32>, tensor<2x8x96xf32>)
    ```

    Constraints:
    - C1: operands and results have one shape.
    - C2: operands and results have one element type.
  }];
  let arguments = (ins Tgpt_Tensor:$output_grad, Tgpt_Tensor:$gate, Tgpt_Tensor:$up);
  let results = (outs Tgpt_Tensor:$gate_grad, Tgpt_Tensor:$up_grad);
}

def Tgpt_CrossEntropyGradOp
    : Tgpt_BackwardOp<"cross_entropy_grad", [], ["getKernelAttributes", "getShardOffsets", "getInPlaceOperand"]> {
  let summary = "gradient of the logits: softmax minus target";
  let description = [{
    `dloss ((1 + 2 z_loss lse) exp(logits - lse) - (1-e) [label] - e/V)` with
    e = `label_smoothing` and V the whole vocabulary; 0 for an ignored token. Rule
    `abV,ab,ab,->abV`: local whatever shards the vocabulary. May overwrite the logits.
    With `vocabulary` that is V, and the columns from there on are padding: exactly 0.

    Lifespan: from tgpt-differentiate, for `cross_entropy`, to plan-lower.

    ```mlir
    // args: %logits: tensor<2x8x256xf32>, %labels: tensor<2x8xi32>, %lse: tensor<2x8xf32>, %dloss: tensor<f32>
    %dlogits = tgpt.cross_entropy_grad %logits, %labels, %lse, %dloss : (tensor<2x8x256xf32>, tensor<2x8xi32>, tensor<2x8xf32>, tensor<f32>) -> tensor<2x8x256xf32>
    ```

    Constraints:
    - C1: the logits are [batch, sequence, vocabulary], labels and lse [batch, sequence].
    - C2: batch and sequence are equal; the result has the shape of the logits.
    - C3: the result has the logits' element type T, lse and loss_grad have A(T).
    - C4: `label_smoothing` is at least 0 and below 1, `z_loss` finite and at least 0.
    - C5: `vocabulary` is 1 to the number of columns of the logits.
  }];
  let arguments = (ins Tgpt_Tensor:$logits, Tgpt_TokenTensor:$labels, Tgpt_AccTensor:$lse, Tgpt_Scalar:$loss_grad,
                       DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing, DefaultValuedAttr<F64Attr, "0.0">:$z_loss,
                       OptionalAttr<I64Attr>:$vocabulary);
  let results = (outs Tgpt_Tensor:$logits_grad);
}

#endif // TGPT_DIALECTS_TGPT_BACKWARDOPS_TD
