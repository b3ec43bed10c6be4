//===- Registry.cu - the table of device kernels ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the order of the cpu kernels' table. Host code alone, but of the target's namespace.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ShapeChecks.h"
#include "runtime/kernels/cuda/AttentionTile.h"
#include "runtime/kernels/cuda/Kernels.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

/// A call with heads that are too large for a block's shared memory is refused when the plan is loaded.
static std::string headFits(const KernelCall &call, DType dtype) {
  int64_t c = call.attributes->integer("head_dim"), most = mostHeadDim(dtype);
  return c <= most ? ""
                   : "attribute head_dim is " + std::to_string(c) + ", the device kernel takes at most " +
                         std::to_string(most) + " in " + std::string(name(dtype));
}

static std::string checkAttentionHead(const KernelCall &call) {
  std::string error = checkAttention(call);
  return error.empty() ? headFits(call, call.inputs[0].dtype) : error;
}

static std::string checkAttentionGradHead(const KernelCall &call) {
  std::string error = checkAttentionGrad(call);
  return error.empty() ? headFits(call, call.inputs[1].dtype) : error;
}

static constexpr DeviceKernel table[] = {
    {{"accumulate", {accumulate, checkAccumulate}}},
    {{"accumulate_nodes", {accumulateNodes, checkAccumulateNodes}}},
    {{"accumulate_tree", {accumulateTree, checkAccumulateTree}}},
    {{"adamw", {adamW, checkAdamW}}},
    {{"add", {add, checkAdd}}},
    {{"add_n", {addN, checkAddN}}, addNWorkspace},
    {{"adjust_loss_scale", {adjustLossScale, checkAdjustLossScale}}},
    {{"attention", {attention, checkAttentionHead}}},
    {{"attention_grad", {attentionGrad, checkAttentionGradHead}}, attentionGradWorkspace},
    {{"cast", {cast, checkCast}}},
    {{"clip_scale", {clipScale, checkClipScale}}},
    {{"copy", {copy, checkCopy}}},
    {{"cross_entropy", {crossEntropy, checkCrossEntropy}}, crossEntropyWorkspace},
    {{"cross_entropy_grad", {crossEntropyGrad, checkCrossEntropyGrad}}},
    {{"divide", {divide, checkDivide}}},
    {{"dropout", {dropout, checkDropout}}},
    {{"embedding", {embedding, checkEmbedding}}},
    {{"embedding_grad", {embeddingGrad, checkEmbeddingGrad}}},
    {{"fill", {fill, checkFill}}},
    {{"gelu", {gelu, checkGelu}}},
    {{"gelu_grad", {geluGrad, checkGeluGrad}}},
    {{"head_norm", {headNorm, checkHeadNorm}}},
    {{"head_norm_grad", {headNormGrad, checkHeadNormGrad}}, headNormGradWorkspace},
    {{"layer_norm", {layerNorm, checkLayerNorm}}},
    {{"layer_norm_grad", {layerNormGrad, checkLayerNormGrad}}, layerNormGradWorkspace},
    {{"linear", {linear, checkLinear}}},
    {{"linear_dgrad", {linearDgrad, checkLinearDgrad}}},
    {{"linear_dgrad_sum", {linearDgradSum, checkLinearDgradSum}}},
    {{"linear_wgrad", {linearWgrad, checkLinearWgrad}}},
    {{"loss_statistics", {lossStatistics, checkLossStatistics}}},
    {{"rms_norm", {rmsNorm, checkRmsNorm}}},
    {{"rms_norm_grad", {rmsNormGrad, checkRmsNormGrad}}, rmsNormGradWorkspace},
    {{"rope", {rope, checkRope}}, ropeWorkspace},
    {{"slice", {slice, checkSlice}}},
    {{"stack_nodes", {stackNodes, checkStackNodes}}},
    {{"sum_leading", {sumLeading, checkSumLeading}}, sumLeadingWorkspace},
    {{"sum_nodes", {sumNodes, checkSumNodes}}},
    {{"sum_positions", {sumPositions, checkSumPositions}}, sumPositionsWorkspace},
    {{"sum_squares", {sumSquares, checkSumSquares}}, sumSquaresWorkspace},
    {{"swiglu", {swiglu, checkSwiglu}}},
    {{"swiglu_grad", {swigluGrad, checkSwigluGrad}}},
    {{"token_loss", {tokenLoss, checkTokenLoss}}, tokenLossWorkspace},
};

std::span<const DeviceKernel> kernelTable() {
  return table;
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
