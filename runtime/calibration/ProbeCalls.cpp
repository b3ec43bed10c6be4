//===- ProbeCalls.cpp - which kernel calls are measured -------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/calibration/ProbeCalls.h"

using namespace tgpt::runtime;
using namespace tgpt::runtime::calibration;

/// Sizes a factor of two to four apart, heads of 8 to 64 channels, few and many KV heads: what tp and small models make
/// of the calls of a step. One layer, so that the optimizer's tensors have the size of a layer's.
static constexpr ModelSizes probedSizes[] = {
    {.batch = 1, .sequence = 64, .width = 64, .heads = 8, .kvHeads = 4, .hidden = 128, .vocabulary = 256, .layers = 1},
    {.batch = 1, .sequence = 64, .width = 32, .heads = 2, .kvHeads = 1, .hidden = 96, .vocabulary = 1024, .layers = 1},
    {.batch = 2,
     .sequence = 128,
     .width = 128,
     .heads = 4,
     .kvHeads = 4,
     .hidden = 384,
     .vocabulary = 512,
     .layers = 1},
    {.batch = 1,
     .sequence = 256,
     .width = 256,
     .heads = 4,
     .kvHeads = 1,
     .hidden = 768,
     .vocabulary = 1024,
     .layers = 1},
    {.batch = 4,
     .sequence = 256,
     .width = 192,
     .heads = 4,
     .kvHeads = 2,
     .hidden = 640,
     .vocabulary = 2048,
     .layers = 1},
    {.batch = 1,
     .sequence = 512,
     .width = 512,
     .heads = 8,
     .kvHeads = 2,
     .hidden = 1536,
     .vocabulary = 4096,
     .layers = 1},
};

static std::span<const ModelSizes> sizesProbed(bool isQuick) {
  return std::span(probedSizes).first(isQuick ? 2 : std::size(probedSizes));
}

std::vector<Workload> tgpt::runtime::calibration::stepCalls(DType compute, bool isQuick) {
  std::vector<Workload> calls;
  for (const ModelSizes &sizes : sizesProbed(isQuick))
    for (Workload &call : trainingStepWorkloads(sizes, compute))
      calls.push_back(std::move(call));
  if (compute != DType::F32 && compute != DType::F64)
    return calls;
  for (const ModelSizes &sizes : sizesProbed(isQuick))
    for (Workload &call : trainingStepWorkloads(sizes, compute, /*isCanonical=*/true))
      if (call.attributes.integer("chunks") > 0)
        calls.push_back(std::move(call));
  return calls;
}

std::vector<Workload> tgpt::runtime::calibration::largestStepCalls(DType compute, bool isQuick) {
  return trainingStepWorkloads(sizesProbed(isQuick).back(), compute);
}

std::vector<Workload> tgpt::runtime::calibration::squareProducts(DType compute, bool isQuick) {
  std::vector<Workload> calls;
  for (int64_t side = 32; side <= (isQuick ? 128 : 1024); side *= 2) {
    OperandShape square{compute, {side, side}};
    double flops = 2.0 * static_cast<double>(side * side * side);
    calls.push_back({"linear", "square", {square, square}, {square}, {}, flops});
  }
  return calls;
}

std::vector<Workload> tgpt::runtime::calibration::copies(bool isQuick) {
  std::vector<Workload> calls;
  constexpr int64_t least = 1 << 13, most = 1 << 24;
  for (int64_t elements = least; elements <= (isQuick ? 8 * least : most); elements *= 8) {
    OperandShape line{DType::F32, {elements}};
    calls.push_back({"copy", "", {line}, {line}, {}});
  }
  return calls;
}
