//===- CallSize.cpp - what the time of a kernel call grows with -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/CallSize.h"

#include <algorithm>
#include <cmath>

using namespace tgpt::runtime;
using tgpt::cost::CallSize;

std::string tgpt::runtime::rateName(std::string_view kernel, const KernelCall &call) {
  bool isInChunks = call.attributes && call.attributes->integer("chunks") > 0;
  return std::string(kernel) + std::string(isInChunks ? inChunks : "");
}

static double bytesOf(std::span<const TensorView> operands) {
  double bytes = 0;
  for (const TensorView &operand : operands)
    bytes += static_cast<double>(operand.bytes());
  return bytes;
}

/// `terms` products are added up: dy_i[rows,n_i] w_i[n_i,k], or the one of the other kernels. Every one has the first
/// operand's rows and columns and the result's columns, whichever of them is summed over.
static CallSize ofProducts(CallSize size, const KernelCall &call, size_t terms) {
  const TensorView &result = call.outputs[0];
  for (const TensorView &first : call.inputs.first(terms))
    size.operations += 2 * static_cast<double>(first.elements()) * static_cast<double>(result.dim(-1));
  size.items = static_cast<double>(result.elements());
  return size;
}

/// Queries q[b,s,heads c], keys k[b,s,kvHeads c].
static CallSize ofAttention(CallSize size, const KernelCall &call, const TensorView &q, const TensorView &k,
                            double operationsOfChannel) {
  constexpr double blockRows = 64;
  auto headDim = static_cast<double>(call.attributes->integer("head_dim", 1));
  auto positions = static_cast<double>(q.dim(1));
  bool isCausal = call.attributes->integer("causal") != 0;
  size.items = static_cast<double>(q.elements()) / headDim * (isCausal ? (positions + 1) / 2 : positions);
  size.operations = operationsOfChannel * headDim * size.items;
  size.pieces =
      static_cast<double>(q.dim(0)) * static_cast<double>(k.dim(2)) / headDim * std::ceil(positions / blockRows);
  return size;
}

/// Heads of a position are worked on one by one; they are short.
static CallSize ofHeads(CallSize size, const KernelCall &call, int64_t headDim) {
  size.items = static_cast<double>(call.inputs[0].elements()) / static_cast<double>(std::max<int64_t>(1, headDim));
  return size;
}

static CallSize ofRows(CallSize size, const KernelCall &call) {
  for (std::span<const TensorView> operands : {call.inputs, call.outputs})
    for (const TensorView &operand : operands)
      size.items = std::max(size.items, static_cast<double>(operand.rows()));
  return size;
}

CallSize tgpt::runtime::callSize(std::string_view kernel, const KernelCall &call) {
  CallSize size{.bytes = bytesOf(call.inputs) + bytesOf(call.outputs)};
  if (kernel == "linear" || kernel == "linear_dgrad" || kernel == "linear_wgrad")
    return ofProducts(size, call, 1);
  if (kernel == "linear_dgrad_sum")
    return ofProducts(size, call, call.inputs.size() / 2);
  if (kernel == "attention")
    return ofAttention(size, call, call.inputs[0], call.inputs[1], 4);
  if (kernel == "attention_grad")
    return ofAttention(size, call, call.inputs[1], call.inputs[2], 10);
  if (kernel == "rope")
    return ofHeads(size, call, call.attributes->integer("head_dim", 1));
  if (kernel == "head_norm" || kernel == "head_norm_grad") // the last input is a head's weight
    return ofHeads(size, call, call.inputs.back().elements());
  if (kernel == "embedding") // a row of the table for each id
    size.bytes = bytesOf(call.inputs.first(1)) + 2 * static_cast<double>(call.outputs[0].bytes());
  if (kernel == "embedding_grad") // a row of the gradient for each id, read and written
    size.bytes = bytesOf(call.inputs) + 2 * static_cast<double>(call.inputs[1].elements()) *
                                            static_cast<double>(sizeInBytes(call.outputs[0].dtype));
  return ofRows(size, call);
}

tgpt::cost::Dtype tgpt::runtime::rateDtype(const KernelCall &call) {
  static_assert(static_cast<int>(DType::F64) == static_cast<int>(cost::Dtype::F64) &&
                static_cast<int>(DType::F16) == static_cast<int>(cost::Dtype::F16));
  for (std::span<const TensorView> operands : {call.inputs, call.outputs})
    for (const TensorView &operand : operands)
      if (operand.dtype != DType::I32)
        return static_cast<cost::Dtype>(operand.dtype);
  return cost::Dtype::F32;
}
