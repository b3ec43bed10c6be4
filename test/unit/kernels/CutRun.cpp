//===- CutRun.cpp - a kernel call and its parts ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/CutRun.h"
#include "cost/SumNodes.h"
#include "runtime/kernels/api/SumTree.h"

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

/// Part `part` of `parts` along `dim`; all of it where `dim` is none.
static Tensor cut(const Tensor &from, Shape shape, int dim, int64_t part, int64_t parts) {
  if (dim < 0)
    return from;
  int64_t inner = 1;
  for (size_t i = dim + 1; i < shape.size(); ++i)
    inner *= shape[i];
  int64_t size = shape[dim] / parts, all = shape[dim];
  shape[dim] = size;
  Tensor to(from.dtype(), shape);
  for (int64_t i = 0; i < to.elements(); ++i) {
    int64_t outer = i / (size * inner), position = i / inner % size;
    to.set(i, from.get((outer * all + part * size + position) * inner + i % inner));
  }
  return to;
}

Tensor CutRun::draw(DType dtype, const Shape &shape, bool isInteger) {
  Tensor tensor(isInteger ? DType::I32 : dtype, shape);
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.set(i, isInteger ? double(random() % 16) : std::uniform_real_distribution<double>(-1, 1)(random));
  return tensor;
}

Case CutRun::whole(DType dtype, bool isChunked) {
  Case made{call.kernel, call.kernel, dtype, {}, {}, {}};
  for (size_t i = 0; i < call.inputs.size(); ++i)
    made.inputs.push_back(
        draw(dtype, call.inputs[i], std::count(call.integerInputs.begin(), call.integerInputs.end(), int(i))));
  for (const Shape &shape : call.outputs)
    made.outputs.push_back(draw(dtype, shape, false));
  setAttributes(made, isChunked, 0, 1);
  return made;
}

void CutRun::setAttributes(Case &made, bool isChunked, int64_t part, int64_t parts) const {
  made.attributes = {};
  if (isChunked && call.chunks > 0)
    made.attributes.set("chunks", call.isSummed() ? call.chunks / parts : call.chunks);
  if (call.attributes)
    call.attributes(made.attributes, part, parts);
}

std::vector<Tensor> CutRun::runPart(const Case &all, const Kernel &kernel, bool isChunked, int64_t part, int64_t parts,
                                    std::optional<int64_t> node) const {
  Case made = all;
  for (size_t i = 0; i < call.inputs.size(); ++i)
    made.inputs[i] = cut(all.inputs[i], call.inputs[i], call.inputDims[i], part, parts);
  for (size_t o = 0; o < call.outputs.size(); ++o)
    made.outputs[o] = cut(all.outputs[o], call.outputs[o], call.outputDims[o], part, parts);
  setAttributes(made, isChunked, part, parts);
  if (node) {
    made.attributes.set("nodes", int64_t(1));
    made.attributes.set("node", *node);
    made.attributes.set("first_chunk", part * (call.chunks / parts));
  }
  return made.run(kernel);
}

static double addedUp(const std::vector<std::vector<Tensor>> &parts, size_t output, int64_t i, DType dtype) {
  auto part = [&](int64_t p) { return parts[p][output].get(i); };
  if (dtype == DType::F64)
    return sumScalarsInTree<double>(int64_t(parts.size()), part);
  return sumScalarsInTree<float>(int64_t(parts.size()), [&](int64_t p) { return float(part(p)); });
}

int64_t CutRun::countDifferent(const Kernel &kernel, DType dtype, bool isChunked, int64_t parts) {
  Case all = whole(dtype, isChunked);
  std::vector<Tensor> expected = all.run(kernel);
  std::vector<std::vector<Tensor>> got;
  for (int64_t part = 0; part < parts; ++part)
    got.push_back(runPart(all, kernel, isChunked, part, parts));
  int64_t different = 0;
  for (size_t o = 0; o < expected.size(); ++o) {
    int dim = call.outputDims[o];
    if (dim == summed) {
      for (int64_t i = 0; i < expected[o].elements(); ++i)
        different += expected[o].get(i) != addedUp(got, o, i, expected[o].dtype());
      continue;
    }
    for (int64_t part = 0; part < parts; ++part)
      different += cut(expected[o], call.outputs[o], dim, part, parts).bytes() != got[part][o].bytes();
  }
  return different;
}

/// What the kernel "sum_nodes" makes of an output of all parts' nodes.
static Tensor addedNodes(const std::vector<std::vector<Tensor>> &parts, size_t output, const Kernel &sumNodes,
                         int64_t addends, int64_t nodes) {
  const Tensor &first = parts.front()[output];
  int64_t size = first.elements();
  Tensor rows(first.dtype(), {int64_t(parts.size()), size}), sum(first.dtype(), {size});
  for (size_t row = 0; row < parts.size(); ++row)
    for (int64_t i = 0; i < size; ++i)
      rows.set(int64_t(row) * size + i, parts[row][output].get(i));
  Case total{"sum_nodes", "sum_nodes", first.dtype(), {rows}, {sum}, {}};
  total.attributes.set("addends", withoutPowersOfTwo(addends));
  total.attributes.set("nodes", nodes);
  return total.run(sumNodes).front();
}

int64_t CutRun::countDifferentNodes(const Kernel &kernel, const Kernel &sumNodes, DType dtype, int64_t parts) {
  int64_t addends = call.chunks / parts, nodes = mostSumNodes(addends, parts), different = 0;
  Case all = whole(dtype, true);
  std::vector<Tensor> expected = all.run(kernel);
  std::vector<std::vector<Tensor>> got;
  for (int64_t part = 0; part < parts; ++part)
    for (int64_t node = 0; node < nodes; ++node)
      got.push_back(runPart(all, kernel, true, part, parts, node));
  for (size_t o = 0; o < expected.size(); ++o) {
    int dim = call.outputDims[o];
    if (dim == summed) {
      Tensor added = addedNodes(got, o, sumNodes, addends, nodes);
      for (int64_t i = 0; i < added.elements(); ++i)
        different += added.get(i) != expected[o].get(i);
      continue;
    }
    for (int64_t part = 0; part < parts; ++part) // whole with every node
      for (int64_t node = 0; node < nodes; ++node)
        different += cut(expected[o], call.outputs[o], dim, part, parts).bytes() != got[part * nodes + node][o].bytes();
  }
  return different;
}
