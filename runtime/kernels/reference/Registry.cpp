//===- Registry.cpp - the table of the reference kernels --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/reference/Registry.h"
#include "runtime/kernels/api/ShapeChecks.h"
#include "runtime/kernels/reference/Kernels.h"

namespace tgpt::runtime::reference {

static constexpr KernelEntry table[] = {
    {"accumulate", {accumulate, checkAccumulate}},
    {"accumulate_nodes", {accumulateNodes, checkAccumulateNodes}},
    {"accumulate_tree", {accumulateTree, checkAccumulateTree}},
    {"adamw", {adamW, checkAdamW}},
    {"add", {add, checkAdd}},
    {"add_n", {addN, checkAddN}},
    {"adjust_loss_scale", {adjustLossScale, checkAdjustLossScale}},
    {"attention", {attention, checkAttention}},
    {"attention_grad", {attentionGrad, checkAttentionGrad}},
    {"cast", {cast, checkCast}},
    {"clip_scale", {clipScale, checkClipScale}},
    {"copy", {copy, checkCopy}},
    {"cross_entropy", {crossEntropy, checkCrossEntropy}},
    {"cross_entropy_grad", {crossEntropyGrad, checkCrossEntropyGrad}},
    {"divide", {divide, checkDivide}},
    {"dropout", {dropout, checkDropout}},
    {"embedding", {embedding, checkEmbedding}},
    {"embedding_grad", {embeddingGrad, checkEmbeddingGrad}},
    {"fill", {fill, checkFill}},
    {"gelu", {gelu, checkGelu}},
    {"gelu_grad", {geluGrad, checkGeluGrad}},
    {"head_norm", {headNorm, checkHeadNorm}},
    {"head_norm_grad", {headNormGrad, checkHeadNormGrad}},
    {"layer_norm", {layerNorm, checkLayerNorm}},
    {"layer_norm_grad", {layerNormGrad, checkLayerNormGrad}},
    {"linear", {linear, checkLinear}},
    {"linear_dgrad", {linearDgrad, checkLinearDgrad}},
    {"linear_dgrad_sum", {linearDgradSum, checkLinearDgradSum}},
    {"linear_wgrad", {linearWgrad, checkLinearWgrad}},
    {"rms_norm", {rmsNorm, checkRmsNorm}},
    {"rms_norm_grad", {rmsNormGrad, checkRmsNormGrad}},
    {"rope", {rope, checkRope}},
    {"row_max", {rowMax, checkRowMax}},
    {"row_mean", {rowMean, checkRowMean}},
    {"slice", {slice, checkSlice}},
    {"softmax_sums", {softmaxSums, checkSoftmaxSums}},
    {"stack_nodes", {stackNodes, checkStackNodes}},
    {"sum_leading", {sumLeading, checkSumLeading}},
    {"sum_nodes", {sumNodes, checkSumNodes}},
    {"sum_positions", {sumPositions, checkSumPositions}},
    {"sum_squares", {sumSquares, checkSumSquares}},
    {"swiglu", {swiglu, checkSwiglu}},
    {"swiglu_grad", {swigluGrad, checkSwigluGrad}},
    {"token_loss", {tokenLoss, checkTokenLoss}},
};

std::span<const KernelEntry> kernelTable() {
  return table;
}

} // namespace tgpt::runtime::reference
