//===- AttentionProblem.cpp - what cuDNN is asked for -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cudnn/AttentionProblem.h"

#include <algorithm>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

static constexpr int64_t headStep = 8, mostHeadDim = 256;
static constexpr uintptr_t alignmentBytes = 16;

std::string AttentionProblem::key() const {
  return std::string(isGradient ? "attention_grad " : "attention ") + std::string(name(dtype)) + " " +
         std::to_string(batch) + " x " + std::to_string(sequence) + ", " + std::to_string(heads) + " heads of " +
         std::to_string(headDim) + " and " + std::to_string(kvHeads) + " of k" + (causal ? ", causal" : "");
}

bool cuda::operandsAreAligned(const KernelCall &call) {
  auto isAligned = [](const TensorView &view) { return reinterpret_cast<uintptr_t>(view.data) % alignmentBytes == 0; };
  return std::all_of(call.inputs.begin(), call.inputs.end(), isAligned) &&
         std::all_of(call.outputs.begin(), call.outputs.end(), isAligned);
}

/// `q` and `k` are inputs q and q + 1; more inputs than `most` are those of dropout.
static std::optional<AttentionProblem> problemOf(const KernelCall &call, size_t q, size_t most) {
  const TensorView &query = call.inputs[q], &key = call.inputs[q + 1];
  AttentionProblem p;
  p.dtype = query.dtype;
  p.headDim = call.attributes->integer("head_dim");
  bool isOurs = (p.dtype != DType::BF16 && p.dtype != DType::F16) || call.inputs.size() > most ||
                call.attributes->integer("chunks") > 0 || p.headDim % headStep != 0 || p.headDim > mostHeadDim;
  if (isOurs)
    return std::nullopt;
  p.batch = query.dim(0), p.sequence = query.dim(1);
  p.heads = query.dim(2) / p.headDim, p.kvHeads = key.dim(2) / p.headDim;
  p.causal = call.attributes->integer("causal") != 0;
  p.scale = call.attributes->real("scale");
  p.q = query.data, p.k = key.data, p.v = call.inputs[q + 2].data;
  return p;
}

std::optional<AttentionProblem> cuda::attentionProblem(const KernelCall &call) {
  std::optional<AttentionProblem> p = problemOf(call, 0, 3);
  if (p)
    p->o = call.outputs[0].data, p->statistics = call.outputs[1].data;
  return p;
}

std::optional<AttentionProblem> cuda::attentionGradProblem(const KernelCall &call) {
  std::optional<AttentionProblem> p = problemOf(call, 1, 6);
  if (!p || p->sequence == 1)
    return std::nullopt;
  p->isGradient = true;
  p->dout = call.inputs[0].data, p->o = call.inputs[4].data, p->statistics = call.inputs[5].data;
  p->dq = call.outputs[0].data, p->dk = call.outputs[1].data, p->dv = call.outputs[2].data;
  return p;
}

static size_t roundUp(int64_t count, int64_t step) {
  return size_t((count + step - 1) / step * step);
}

size_t cuda::libraryWorkspaceBytes(const AttentionProblem &p, bool keepsScores) {
  constexpr size_t ofEngine = 1024;
  if (!p.isGradient)
    return ofEngine;
  size_t rows = size_t(p.batch * p.heads * p.sequence), heads = size_t(p.batch * p.heads);
  size_t scores = keepsScores ? heads * roundUp(p.sequence, 64) * roundUp(p.sequence, 128) * sizeInBytes(p.dtype) : 0;
  size_t headGradients = p.isGrouped() ? 2 * rows * size_t(p.headDim) * sizeof(float) : 0; // of k and v, by query head
  return scores + headGradients + rows * sizeof(float) + ofEngine;
}
