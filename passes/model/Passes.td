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

#endif // TGPT_PASSES_MODEL_PASSES_TD
