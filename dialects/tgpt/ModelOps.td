//===- ModelOps.td - the forward of GPT and LLaMA families ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by tgpt-import into @loss, consumed by plan-lower, which makes one kernel
// call of each. In between they change only their types: the batch becomes static,
// f32 becomes the compute type, global tensors become one rank's shards.
//
// In every op T is the compute type (f64, f32, bf16 or f16), A(T) the type of sums and
// statistics: f64 for f64, else f32. `..` in a rule stands for the leading dims.
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

def Tgpt_EmbeddingOp : Tgpt_ForwardFormat<"embedding", [ChunkedSum<>.T], ["getKernelAttributes", "getShardOffsets"], ["getFlops", "getBytesRead"]> {
  let summary = "look up a row of the table for each token";
  let description = [{
    `y[b,s,:] = table[ids[b,s],:]`. Rule `ab,VD->abD`: with the vocabulary sharded a
    rank gives zeros for rows it does not hold, so the result is partial. With
    `vocabulary` there are only that many ids: rows from there on are padding.

    Lifespan: from tgpt-import to plan-lower; its backward is `embedding_grad`.

    ```mlir
    // args: %ids: tensor<2x8xi32>, %table: tensor<256x64xf32>
    %x = tgpt.embedding %ids, %table : (tensor<2x8xi32>, tensor<256x64xf32>) -> tensor<2x8x64xf32>
    ```

    Constraints:
    - C1: the table is [vocabulary, width], the result [batch, sequence, width].
    - C2: batch and sequence are those of the ids, the width that of the table.
    - C3: the result has the table's element type T.
    - C4: `vocabulary` is 1 to the number of rows of the table.
  }];
  let arguments = (ins Tgpt_TokenTensor:$ids, Tgpt_Tensor:$table, OptionalAttr<I64Attr>:$vocabulary);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_LinearOp : Tgpt_ForwardFormat<"linear", [ChunkedSum<>.T], [], ["getFlops", "getModelFlops", "getKernelKind"]> {
  let summary = "multiply rows by a weight, add a bias";
  let description = [{
    `y = x w^T + bias`, w is [n, k] as in torch. Rule `..K,NK[,N]->..N`; K is blocked
    when there is a bias, since a partial sum would count the bias once a rank.

    Lifespan: from tgpt-import to plan-lower; its backward is `linear_dgrad`,
    `linear_wgrad` and, for the bias, `sum_leading`.

    ```mlir
    // args: %x: tensor<2x8x64xf32>, %w: tensor<96x64xf32>, %bias: tensor<96xf32>
    %y = tgpt.linear %x, %w, %bias : (tensor<2x8x64xf32>, tensor<96x64xf32>, tensor<96xf32>) -> tensor<2x8x96xf32>
    %z = tgpt.linear %x, %w : (tensor<2x8x64xf32>, tensor<96x64xf32>) -> tensor<2x8x96xf32>
    ```

    Constraints:
    - C1: the weight has rank 2, the bias rank 1, the result the rank of the input.
    - C2: the input's last dim is the weight's k; the result's last dim and the bias are its n;
      the leading dims of input and result are equal.
    - C3: weight and bias have the input's element type T; the result has T or A(T).
  }];
  let arguments = (ins Tgpt_Tensor:$input, Tgpt_Tensor:$weight, Optional<Tgpt_Tensor>:$bias);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_RmsNormOp : Tgpt_ForwardFormat<"rms_norm"> {
  let summary = "scale rows to unit root mean square";
  let description = [{
    `rstd = 1/sqrt(mean(x^2) + epsilon)`, `y = x rstd w` (arXiv 1910.07467). Rule
    `..D,D->..D,..`, D blocked.

    Lifespan: from tgpt-import to plan-lower; its backward is `rms_norm_grad`, for
    which rstd is kept.

    ```mlir
    // args: %x: tensor<2x8x64xbf16>, %w: tensor<64xbf16>
    %y, %rstd = tgpt.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<2x8x64xbf16>, tensor<64xbf16>) -> (tensor<2x8x64xbf16>, tensor<2x8xf32>)
    ```

    Constraints:
    - C1: the input has a dim at least, the weight one, rstd one less than the input.
    - C2: the weight has the input's last dim; the result has the input's shape, rstd its leading dims.
    - C3: weight and result have the input's element type T, rstd has A(T).
    - C4: `epsilon` is finite and at least 0.
  }];
  let arguments = (ins Tgpt_Tensor:$input, Tgpt_Tensor:$weight, F64Attr:$epsilon);
  let results = (outs Tgpt_Tensor:$output, Tgpt_AccTensor:$rstd);
}

def Tgpt_HeadNormOp : Tgpt_ForwardFormat<"head_norm"> {
  let summary = "scale each head to unit root mean square";
  let description = [{
    rms_norm of each head of `c` elements, with one weight of `c` elements for all heads:
    the norm of queries and keys (QK-norm, arXiv 2302.05442). Rule `abH,D->abH`: H in
    units of the weight's size, D blocked. The backward computes the root mean square
    anew; a head is small.

    Lifespan: from tgpt-import to plan-lower; its backward is `head_norm_grad`.

    ```mlir
    // args: %q: tensor<2x8x64xbf16>, %w: tensor<16xbf16>
    %y = tgpt.head_norm %q, %w {epsilon = 1.0e-5 : f64} : (tensor<2x8x64xbf16>, tensor<16xbf16>) -> tensor<2x8x64xbf16>
    ```

    Constraints:
    - C1: the input is [batch, sequence, heads x c], the weight [c].
    - C2: c divides the input's last dim; the result has the input's shape.
    - C3: weight and result have the input's element type T.
    - C4: `epsilon` is finite and at least 0.
  }];
  let arguments = (ins Tgpt_Tensor:$input, Tgpt_Tensor:$weight, F64Attr:$epsilon);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_LayerNormOp : Tgpt_ForwardFormat<"layer_norm"> {
  let summary = "scale rows to zero mean and unit variance";
  let description = [{
    `y = (x - mean) rstd w + bias`, biased variance (arXiv 1607.06450). Rule
    `..D,D,D->..D,..,..`, D blocked.

    Lifespan: from tgpt-import to plan-lower; its backward is `layer_norm_grad`, for
    which mean and rstd are kept.

    ```mlir
    // args: %x: tensor<2x8x64xf32>, %w: tensor<64xf32>, %bias: tensor<64xf32>
    %y, %mean, %rstd = tgpt.layer_norm %x, %w, %bias {epsilon = 1.0e-5 : f64} : (tensor<2x8x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<2x8x64xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
    ```

    Constraints:
    - C1: the input has a dim at least, weight and bias one, mean and rstd one less than the input.
    - C2: weight and bias have the input's last dim; the result has the input's shape, mean and rstd its leading dims.
    - C3: weight, bias and result have the input's element type T, mean and rstd have A(T).
    - C4: `epsilon` is finite and at least 0.
  }];
  let arguments = (ins Tgpt_Tensor:$input, Tgpt_Tensor:$weight, Tgpt_Tensor:$bias, F64Attr:$epsilon);
  let results = (outs Tgpt_Tensor:$output, Tgpt_AccTensor:$mean, Tgpt_AccTensor:$rstd);
}

def Tgpt_RopeOp : Tgpt_ForwardFormat<"rope", [], ["getWorkspaceBytes"]> {
  let summary = "rotate pairs of head elements by an angle that grows with the position";
  let description = [{
    Elements i and i + c/2 of each head turn by `p theta^(-2i/c)` at position p
    (arXiv 2104.09864; half-split pairs as in Hugging Face LLaMA), backwards when `inverse`.
    Rule `abH->abH`, linear, the sequence b blocked, H in units of `head_dim` elements.

    Lifespan: from tgpt-import to plan-lower; it is orthogonal, so its backward is
    itself with `inverse` the other way round.

    ```mlir
    // args: %q: tensor<2x8x64xf32>
    %y = tgpt.rope %q {head_dim = 16 : i64, theta = 1.0e4 : f64} : (tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
    %z = tgpt.rope %y {head_dim = 16 : i64, theta = 1.0e4 : f64, inverse = true} : (tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
    ```

    Constraints:
    - C1: the input is [batch, sequence, heads x head_dim].
    - C2: `head_dim` is even, at least 2, and divides the last dim.
    - C3: the result has the input's shape and element type.
    - C4: `theta` is finite and above 0.
  }];
  let arguments = (ins Tgpt_Tensor:$input, I64Attr:$head_dim, F64Attr:$theta, DefaultValuedAttr<BoolAttr, "false">:$inverse);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_AttentionOp : Tgpt_ForwardFormat<"attention", [ChunkedSum<>.T, DeclareOpInterfaceMethods<RandomStreamOpInterface>],
                                          ["getKernelAttributes", "getShardOffsets"], ["getFlops", "getModelFlops", "getKernelKind"]> {
  let summary = "softmax(scale q k^T + mask) v for each head";
  let description = [{
    Query head i reads KV head `i / (h/g)` (grouped-query attention, arXiv 2305.13245). Also gives
    the log-sum-exp of each row for the backward (arXiv 2205.14135). With `causal` a
    row sees no later column. Rule `ab(HGD),ab(HD),ab(HD)->ab(HGD),a(HG)b` with g KV
    heads H, h/g query heads a KV head G and `head_dim` elements D: KV heads of q, k and
    v are sharded together, the query heads of a KV head by further axes over which k
    and v are replicated. The sequence b and D are blocked.

    With `dropout` a probability is zeroed with that probability, else divided by
    `1 - dropout`; the log-sum-exp is that of all. Which ones is a function of `seed`,
    `stream` and step, and of the probability's sample, head, row and column in the whole
    tensor, as in `dropout`. The rule
    has the groups `,a,` more then.

    Lifespan: from tgpt-import to plan-lower; its backward is `attention_grad`.

    ```mlir
    // args: %q: tensor<2x8x64xf32>, %k: tensor<2x8x32xf32>, %v: tensor<2x8x32xf32>
    %o, %lse = tgpt.attention %q, %k, %v {head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<2x8x64xf32>, tensor<2x8x32xf32>, tensor<2x8x32xf32>) -> (tensor<2x8x64xf32>, tensor<2x4x8xf32>)
    ```
    ```mlir
    // args: %q: tensor<2x8x64xf32>, %k: tensor<2x8x32xf32>, %v: tensor<2x8x32xf32>, %samples: tensor<2xi32>, %step: tensor<i32>
    %o, %lse = tgpt.attention %q, %k, %v, %samples, %step {head_dim = 16 : i64, scale = 0.25 : f64, dropout = 0.1 : f64, stream = "attn.probabilities"} : (tensor<2x8x64xf32>, tensor<2x8x32xf32>, tensor<2x8x32xf32>, tensor<2xi32>, tensor<i32>) -> (tensor<2x8x64xf32>, tensor<2x4x8xf32>)
    ```

    Constraints:
    - C1: query, key, value and lse have rank 3.
    - C2: `head_dim` is at least 1 and divides the last dims of query, key and value.
    - C3: the number of query heads is a multiple of the number of key heads.
    - C4: batch and sequence are equal, value has the shape of key, the result that of query;
      lse is [batch, query heads, sequence].
    - C5: key, value and result have the query's element type T, lse has A(T).
    - C6: `scale` is finite.
    - C7: `dropout` is at least 0 and below 1. Where it is not 0, `mask_inputs` are the sample
      numbers [batch] and the step, a scalar; else there are none.
    - C8: where `dropout` is not 0, `stream` is not empty and has one `*` inside a `tgpt.repeat`,
      none elsewhere; else there is no stream.
    - C9: with dropout there are at most 4194304 positions and 4096 heads.
  }];
  let arguments = (ins Tgpt_Tensor:$query, Tgpt_Tensor:$key, Tgpt_Tensor:$value,
                       Variadic<RankedTensorOf<[I32]>>:$mask_inputs, I64Attr:$head_dim, F64Attr:$scale,
                       DefaultValuedAttr<BoolAttr, "true">:$causal, DefaultValuedAttr<F64Attr, "0.0">:$dropout,
                       OptionalAttr<StrAttr>:$stream, DefaultValuedAttr<I64Attr, "0">:$seed);
  let results = (outs Tgpt_Tensor:$output, Tgpt_AccTensor:$lse);
  let extraClassDeclaration = [{
    /// The core of attention is what is recomputed first (arXiv 2205.05198).
    bool isWorthRecomputing() { return true; }
  }];
}

def Tgpt_GeluOp : Tgpt_ForwardFormat<"gelu"> {
  let summary = "Gaussian error linear unit, tanh approximation";
  let description = [{
    `0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))` (arXiv 1606.08415), elementwise.

    Lifespan: from tgpt-import to plan-lower; its backward is `gelu_grad`.

    ```mlir
    // args: %x: tensor<2x8x64xf32>
    %y = tgpt.gelu %x : (tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
    ```

    Constraints:
    - C1: the result has the input's shape.
    - C2: the result has the input's element type.
  }];
  let arguments = (ins Tgpt_Tensor:$input);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_SwigluOp : Tgpt_ForwardFormat<"swiglu"> {
  let summary = "gate sigmoid(gate) up";
  let description = [{
    The gated activation of LLaMA's MLP (arXiv 2002.05202), elementwise.

    Lifespan: from tgpt-import to plan-lower; its backward is `swiglu_grad`.

    ```mlir
    // args: %gate: tensor<2x8x96xf32>, %up: tensor<2x8x96xf32>
    %y = tgpt.swiglu %gate, %up : (tensor<2x8x96xf32>, tensor<2x8x96xf32>) -> tensor<2x8x96xf32>
    ```

    Constraints:
    - C1: gate, up and result have one shape.
    - C2: gate, up and result have one element type.
  }];
  let arguments = (ins Tgpt_Tensor:$gate, Tgpt_Tensor:$up);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_AddOp : Tgpt_ForwardFormat<"add", [], ["getInPlaceOperand"]> {
  let summary = "x + y, y broadcast over the leading dims of x";
  let description = [{
    Residual connections, biases, position tables. Linear in both operands together:
    partial operands give a partial result.

    Lifespan: from tgpt-import to plan-lower. The gradient of lhs is that of the
    result; so is that of rhs, through `sum_leading` where it was broadcast.

    ```mlir
    // args: %x: tensor<2x8x64xf32>, %positions: tensor<8x64xf32>
    %y = tgpt.add %x, %x : (tensor<2x8x64xf32>, tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
    %z = tgpt.add %x, %positions : (tensor<2x8x64xf32>, tensor<8x64xf32>) -> tensor<2x8x64xf32>
    ```

    Constraints:
    - C1: the shape of rhs is the trailing dims of lhs.
    - C2: the result has the shape of lhs.
    - C3: lhs, rhs and result have one element type.
  }];
  let arguments = (ins Tgpt_Tensor:$lhs, Tgpt_Tensor:$rhs);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_DropoutOp : Tgpt_ForwardFormat<"dropout", [DeclareOpInterfaceMethods<RandomStreamOpInterface>], ["getKernelAttributes", "getShardOffsets", "getInPlaceOperand"]> {
  let summary = "zero a random part of the elements, scale the others up";
  let description = [{
    Keeps an element with probability `1 - probability` and divides it by that (inverted
    dropout, jmlr.org/papers/v15/srivastava14a.html). Which ones is a function of `seed`,
    `stream`, the step, and the element's sample, position and column, drawn from
    Philox4x32-10 (KERNELS.md): `samples` holds the number of each row of the batch in
    its step, positions and columns count in the whole tensor. So the mask is the same
    for every mesh and every way to deal samples to ranks and micro-batches, and it is
    computed anew wherever it is needed. `stream` names the op as a parameter is named,
    with a `*` in place of the layer's number; ops of one stream drop the same elements.
    Rule `abD,a,->abD`.

    Lifespan: from tgpt-import to plan-lower; it is linear and symmetric in its input,
    so its backward is itself, on the output's gradient.

    ```mlir
    // args: %x: tensor<2x8x64xf32>, %samples: tensor<2xi32>, %step: tensor<i32>
    %y = tgpt.dropout %x, %samples, %step {probability = 0.1 : f64, stream = "embed.dropout"} : (tensor<2x8x64xf32>, tensor<2xi32>, tensor<i32>) -> tensor<2x8x64xf32>
    ```

    Constraints:
    - C1: the input is [batch, sequence, width].
    - C2: there is a sample number for each row of the input's batch; the result has the input's shape.
    - C3: the result has the input's element type T.
    - C4: `probability` is at least 0 and below 1.
    - C5: `stream` is not empty and has one `*` inside a `tgpt.repeat`, none elsewhere.
  }];
  let arguments = (ins Tgpt_Tensor:$input, Tgpt_SampleTensor:$samples, Tgpt_IntegerScalar:$step, F64Attr:$probability,
                       StrAttr:$stream, DefaultValuedAttr<I64Attr, "0">:$seed);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_SplitOp : Tgpt_Op<"split", [Pure]> {
  let summary = "the last dim in parts: what a fused linear gives to its readers";
  let description = [{
    A fused weight, as checkpoints hold it, is one matrix product whose result is cut into
    parts, in order. `names` are what the parts' own weights will be called in the place
    of the fused name: q in `layers.0.attn.q.weight` for qkv in `layers.0.attn.qkv.weight`.

    Lifespan: from tgpt-import to tgpt-split-fused, which gives each part a linear and
    parameters of its own.

    ```mlir
    // args: %qkv: tensor<2x8x96xf32>
    %q, %k, %v = tgpt.split %qkv {names = ["q", "k", "v"]} : (tensor<2x8x96xf32>) -> (tensor<2x8x64xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>)
    ```

    Constraints:
    - C1: there are two parts or more, of the input's rank, leading dims and element type.
    - C2: the last dims of the parts add up to that of the input.
    - C3: there is a name for each part, different from the others, of letters, digits and '_'.
  }];
  let arguments = (ins Tgpt_Tensor:$input, StrArrayAttr:$names);
  let results = (outs Variadic<Tgpt_Tensor>:$parts);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tgpt_CastOp : Tgpt_ForwardFormat<"cast"> {
  let summary = "round to another element type";
  let description = [{
    Rounds to nearest even, elementwise.

    Lifespan: written by tgpt-specialize-batch, tgpt-differentiate and
    tgpt-add-optimizer where a compute type meets an accumulation type; consumed by
    plan-lower. Its backward casts the other way.

    ```mlir
    // args: %x: tensor<64xf32>
    %y = tgpt.cast %x : (tensor<64xf32>) -> tensor<64xbf16>
    ```

    Constraints:
    - C1: the result has the input's shape.
  }];
  let arguments = (ins Tgpt_Tensor:$input);
  let results = (outs Tgpt_Tensor:$output);
}

def Tgpt_CrossEntropyOp : Tgpt_ForwardFormat<"cross_entropy", [], ["getKernelAttributes", "hasAccumulationType", "getWorkspaceBytes"]> {
  let summary = "sum of the token losses and number of valid tokens";
  let description = [{
    `loss_sum = sum over valid tokens of lse - logits[label]`; a negative label is not
    valid and counts nowhere. With e = `label_smoothing` the target is `(1-e) [label] + e/V`
    (arXiv 1512.00567): `lse - (1-e) logits[label] - e mean(logits)`. `z_loss` adds
    `z_loss lse^2` (arXiv 2204.02311). Rule `abV,ab->,,ab`, V blocked: with the
    vocabulary to be sharded, `tgpt-split-loss` writes the op as loss_statistics and
    token_loss. With `vocabulary` the columns from there on are padding: they count for
    nothing, as if their logits were minus infinity.

    Lifespan: from tgpt-import to tgpt-split-loss or plan-lower; its backward is
    `cross_entropy_grad`, for which lse is kept.

    ```mlir
    // args: %logits: tensor<2x8x256xf32>, %labels: tensor<2x8xi32>
    %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (tensor<2x8x256xf32>, tensor<2x8xi32>) -> (tensor<f32>, tensor<f32>, tensor<2x8xf32>)
    ```

    Constraints:
    - C1: the logits are [batch, sequence, vocabulary], labels and lse [batch, sequence].
    - C2: batch and sequence are equal.
    - C3: loss_sum, token_count and lse have the accumulation type A(T) of the logits.
    - C4: `label_smoothing` is at least 0 and below 1, `z_loss` finite and at least 0.
    - C5: `vocabulary` is 1 to the number of columns of the logits.
  }];
  let arguments = (ins Tgpt_Tensor:$logits, Tgpt_TokenTensor:$labels, DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing,
                       DefaultValuedAttr<F64Attr, "0.0">:$z_loss, OptionalAttr<I64Attr>:$vocabulary);
  let results = (outs Tgpt_Scalar:$loss_sum, Tgpt_Scalar:$token_count, Tgpt_AccTensor:$lse);
}

#endif // TGPT_DIALECTS_TGPT_MODELOPS_TD
