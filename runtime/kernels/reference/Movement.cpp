//===- Movement.cpp - reference casts, fills and copies ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cost/SumNodes.h"
#include "runtime/kernels/reference/Element.h"
#include "runtime/kernels/reference/Kernels.h"

namespace tgpt::runtime::reference {

KernelStatus cast(const KernelCall &call) {
  for (int64_t i = 0; i < call.inputs[0].elements(); ++i)
    put(call.outputs[0], i, get(call.inputs[0], i));
  return {};
}

KernelStatus fill(const KernelCall &call) {
  for (int64_t i = 0; i < call.outputs[0].elements(); ++i)
    put(call.outputs[0], i, call.attributes->real("value"));
  return {};
}

KernelStatus copy(const KernelCall &call) {
  return cast(call);
}

KernelStatus accumulate(const KernelCall &call) {
  for (int64_t i = 0; i < call.inputs[0].elements(); ++i)
    put(call.outputs[0], i, get(call.outputs[0], i) + get(call.inputs[0], i));
  return {};
}

/// The outputs hold sums of 1, 2, 4, ... micro-batches; x joins those that are complete
/// with it, the last one all that are left.
KernelStatus accumulateTree(const KernelCall &call) {
  int64_t number = call.inputs[1].as<int32_t>()[0], last = call.attributes->integer("micro_batches") - 1;
  if (number < 0 || number > last)
    return {"accumulate_tree: the micro-batch's number is not below their count"};
  for (int64_t i = 0; i < call.inputs[0].elements(); ++i) {
    double sum = get(call.inputs[0], i);
    size_t level = 0;
    for (; number >> level & 1; ++level)
      sum += get(call.outputs[level], i);
    if (number == last)
      for (; level < call.outputs.size(); ++level)
        if (number >> level & 1)
          sum += get(call.outputs[level], i);
    put(call.outputs[number == last ? call.outputs.size() - 1 : level], i, sum);
  }
  return {};
}

/// The outputs hold the nodes of the addends of a rank so far, from the left; x joins those that end where it begins.
KernelStatus accumulateNodes(const KernelCall &call) {
  int64_t parts = call.attributes->integer("parts"), ofRank = call.attributes->integer("micro_batches") * parts;
  int64_t number =
      call.inputs[1].as<int32_t>()[0] / (call.inputs[1].elements() / parts) + call.attributes->integer("part");
  if (number < 0 || number >= ofRank * call.attributes->integer("ranks"))
    return {"accumulate_nodes: the number of the samples is not below their count"};
  int64_t first = number / ofRank * ofRank, before = countSumNodes(first, number - first);
  int64_t after = countSumNodes(first, number - first + 1);
  for (int64_t i = 0; i < call.inputs[0].elements(); ++i) {
    double sum = get(call.inputs[0], i);
    for (int64_t node = before - 1; node >= after - 1; --node)
      sum += get(call.outputs[node], i);
    put(call.outputs[after - 1], i, sum);
  }
  return {};
}

KernelStatus stackNodes(const KernelCall &call) {
  int64_t size = call.inputs[0].elements();
  for (size_t row = 0; row < call.inputs.size(); ++row)
    for (int64_t i = 0; i < size; ++i)
      put(call.outputs[0], int64_t(row) * size + i, get(call.inputs[row], i));
  return {};
}

KernelStatus sumNodes(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  int64_t nodes = call.attributes->integer("nodes"), addends = call.attributes->integer("addends");
  for (int64_t i = 0; i < y.elements(); ++i) {
    double sum = 0;
    for (int64_t rank = 0; rank < x.dim(0) / nodes; ++rank)
      for (int64_t node = 0; node < countSumNodes(rank * addends, addends); ++node)
        sum += get(x, (rank * nodes + node) * y.elements() + i);
    put(y, i, sum);
  }
  return {};
}

KernelStatus slice(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  int64_t along = call.attributes->integer("dim"), offset = call.attributes->integer("offset"), inner = 1;
  for (int64_t i = along + 1; i < x.rank; ++i)
    inner *= x.shape[i];
  int64_t size = y.shape[along], whole = x.shape[along];
  for (int64_t i = 0; i < y.elements(); ++i) {
    int64_t outer = i / (size * inner), position = i / inner % size;
    put(y, i, get(x, (outer * whole + position + offset) * inner + i % inner));
  }
  return {};
}

} // namespace tgpt::runtime::reference
