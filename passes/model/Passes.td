//===- Passes.td - the passes of the model phase ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_MODEL_PASSES_TD
#define TGPT_PASSES_MODEL_PASSES_TD

include "mlir/Pass/PassBase.td"

def SpecializeBatch : Pass<"tgpt-specialize-batch", "::mlir::ModuleOp"> {
  let summary = "fix the batch size and the compute dtype";
  let description = [{
    A model file leaves the batch open (`?`) and is written in f32. This pass gives
    every tensor its static shape and its element type: the compute dtype for
    parameters and activations, the accumulation dtype (f64 for f64, else f32) for
    statistics, losses and counts.

    **Input**
    ```mlir
    %y, %rstd = tgpt.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?xf32>)
    ```
    **Output** (`samples=4 dtype=bf16`)
    ```mlir
    %y, %rstd = tgpt.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<4x8xbf16>, tensor<8xbf16>) -> (tensor<4x8xbf16>, tensor<4xf32>)
    ```
    Fails when `samples` is not positive, the dtype is unknown, or a dim other than
    the first is open.
  }];
  let options = [
    Option<"samples", "samples", "int64_t", "1", "Samples in the global micro-batch (micro-batch of a rank times dp)">,
    Option<"dtype", "dtype", "std::string", "\"f32\"", "Compute dtype: f64, f32, bf16 or f16">,
  ];
  let statistics = [
    Statistic<"numTypes", "types-specialized", "Number of value types made static or given another element type">,
    Statistic<"numKept", "types-kept", "Number of value types that were final already">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect"];
}

def SetRegularization : Pass<"tgpt-set-regularization", "::mlir::ModuleOp"> {
  let summary = "choose the dropout masks' seed and the terms of the loss";
  let description = [{
    What training adds to a model against overfitting and drift is no part of its file:
    the seed of every `tgpt.dropout`, and label smoothing and z-loss of every
    `tgpt.cross_entropy`. A term whose option is 0 stays as the model has it.

    **Input**
    ```mlir
    %y = tgpt.dropout %x, %samples, %step {probability = 0.1 : f64, stream = "embed.dropout"} : (tensor<2x8x64xf32>, tensor<2xi32>, tensor<i32>) -> tensor<2x8x64xf32>
    ```
    **Output** (`seed=7`)
    ```mlir
    %y = tgpt.dropout %x, %samples, %step {probability = 0.1 : f64, seed = 7 : i64, stream = "embed.dropout"} : (tensor<2x8x64xf32>, tensor<2xi32>, tensor<i32>) -> tensor<2x8x64xf32>
    ```
    Fails when label smoothing is not in [0, 1) or z-loss is negative.
  }];
  let options = [
    Option<"seed", "seed", "uint64_t", "0", "Seed of the dropout masks">,
    Option<"labelSmoothing", "label-smoothing", "double", "0.0", "Share of a label that is spread over the vocabulary">,
    Option<"zLoss", "z-loss", "double", "0.0", "Weight of the squared log-sum-exp of the logits">,
  ];
  let statistics = [
    Statistic<"numSeeded", "dropouts-seeded", "Number of dropouts that got the seed">,
    Statistic<"numLosses", "losses-changed", "Number of cross-entropies that got a term">,
    Statistic<"numKept", "losses-kept", "Number of cross-entropies left as they were">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect"];
}

def UnrollLayers : Pass<"tgpt-unroll-layers", "::mlir::ModuleOp"> {
  let summary = "write out the repeated block and its parameters, one copy a layer";
  let description = [{
    Every op of the function learns the layer it belongs to (`tgpt.layer`): -1 before
    the repeated block, the number of layers after it. The streams of `tgpt.dropout` get
    the layer's number as the parameters' names do.

    **Input**
    ```mlir
    tgpt.parameter @"layers.*.norm.weight" : tensor<8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0> per_layer 2
    %y = tgpt.repeat 2 (%h = %x) : tensor<4x8xf32> {
      %w = tgpt.read @"layers.*.norm.weight" : tensor<8xf32>
      ...
    }
    ```
    **Output**
    ```mlir
    tgpt.parameter @layers.0.norm.weight : tensor<8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0>
    tgpt.parameter @layers.1.norm.weight : tensor<8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0>
    %w0 = tgpt.read @layers.0.norm.weight {tgpt.layer = 0 : i64} : tensor<8xf32>
    ...
    %w1 = tgpt.read @layers.1.norm.weight {tgpt.layer = 1 : i64} : tensor<8xf32>
    ```
    Fails when a function has two repeated blocks, or a written-out name is taken.
  }];
  let statistics = [
    Statistic<"numLayers", "layers-unrolled", "Number of layers written out">,
    Statistic<"numParameters", "parameters-unrolled", "Number of per-layer parameters created">,
    Statistic<"numKept", "parameters-kept", "Number of parameters that are not per layer">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect"];
}

def SplitFused : Pass<"tgpt-split-fused", "::mlir::ModuleOp"> {
  let summary = "give each part of a fused linear a weight of its own";
  let description = [{
    A fused weight lies in one matrix what its readers take apart: query, key and value,
    or gate and up. Tensor parallelism cuts each part by itself (heads with heads), so
    before sharding each part becomes a linear with its own weight and bias: windows on
    the fused ones. Checkpoints and initial values keep those; the numbers computed are
    the same.

    **Input**
    ```mlir
    tgpt.parameter @layers.0.attn.qkv.weight : tensor<96x64xf32> = ...
    %w = tgpt.read @layers.0.attn.qkv.weight : tensor<96x64xf32>
    %qkv = tgpt.linear %x, %w : (tensor<2x8x64xf32>, tensor<96x64xf32>) -> tensor<2x8x96xf32>
    %q, %k, %v = tgpt.split %qkv {names = ["q", "k", "v"]} : ...
    ```
    **Output**
    ```mlir
    tgpt.parameter @layers.0.attn.q.weight : tensor<64x64xf32> = ... {window = #dist.window<"layers.0.attn.qkv.weight", shape = [96, 64], at = [0, 0]>}
    tgpt.parameter @layers.0.attn.k.weight : tensor<16x64xf32> = ... {window = #dist.window<"layers.0.attn.qkv.weight", shape = [96, 64], at = [64, 0]>}
    ...
    %wq = tgpt.read @layers.0.attn.q.weight : tensor<64x64xf32>
    %q = tgpt.linear %x, %wq : (tensor<2x8x64xf32>, tensor<64x64xf32>) -> tensor<2x8x64xf32>
    ...
    ```
    Fails when what is split is not the result of a linear of parameters that are read by
    it alone, or when a part's name is taken.
  }];
  let statistics = [
    Statistic<"numSplit", "linears-split", "Number of fused linears taken apart">,
    Statistic<"numParts", "parts", "Number of linears they became">,
    Statistic<"numKept", "linears-kept", "Number of linears whose result is not split">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::tgpt::dist::DistDialect"];
}

def PadVocabulary : Pass<"tgpt-pad-vocabulary", "::mlir::ModuleOp"> {
  let summary = "add rows to the embedding and the head until a number divides them";
  let description = [{
    The vocabulary is sharded over tensor-parallel ranks, and kernels like round sizes.
    Tables that `multiple` does not divide get more rows: padding, which is zero and stays
    so, since ids never name it, the loss leaves its logits out, and their gradient is 0.
    The parameter is a window on the tensor without padding, so checkpoints, norms and
    initial values do not change.

    **Input**
    ```mlir
    tgpt.parameter @embed.weight : tensor<257x64xf32> = ...
    %table = tgpt.read @embed.weight : tensor<257x64xf32>
    %x = tgpt.embedding %tokens, %table : (tensor<2x8xi32>, tensor<257x64xf32>) -> tensor<2x8x64xf32>
    ```
    **Output** (`multiple=4`)
    ```mlir
    tgpt.parameter @embed.weight : tensor<260x64xf32> = ... {window = #dist.window<"embed.weight", shape = [257, 64], at = [0, 0]>}
    %table = tgpt.read @embed.weight : tensor<260x64xf32>
    %x = tgpt.embedding %tokens, %table {vocabulary = 257 : i64} : (tensor<2x8xi32>, tensor<260x64xf32>) -> tensor<2x8x64xf32>
    ```
    Fails when `multiple` is below 1, or a table that needs padding is read by something
    else than embeddings and linears whose results are logits of a `tgpt.cross_entropy`.
  }];
  let options = [
    Option<"multiple", "multiple", "int64_t", "1", "Number that divides the rows afterwards">,
  ];
  let statistics = [
    Statistic<"numPadded", "tables-padded", "Number of parameters that got rows">,
    Statistic<"numRows", "rows-added", "Number of rows they got">,
    Statistic<"numKept", "tables-kept", "Number of tables that are divisible already">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::tgpt::dist::DistDialect"];
}

#endif // TGPT_PASSES_MODEL_PASSES_TD
