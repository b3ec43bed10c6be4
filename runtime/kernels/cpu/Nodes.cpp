//===- Nodes.cpp - lists of nodes of a tree of additions --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank whose addends are no node of the tree of api/SumTree.h keeps a sum of each node
// that they are (cost/SumNodes.h).
//
// accumulate_nodes: called once for each of `parts` parts of a micro-batch, in order. The
//               outputs hold the nodes of the rank's addends so far; x joins those that
//               end where it begins and becomes the last. Which addend it is follows from
//               the number of the micro-batch's first sample.
// stack_nodes:  y[i] = input i.
// sum_nodes:    the rows of x are the nodes of rank 0, those of rank 1, ..., `nodes` each
//               of which the last may be unused; y is their sum, two neighbours added as
//               soon as they are the halves of a node, and at the end what is left from
//               the right.
// accumulate_nodes works in A and begins with x + 0, so that no node is -0. No sums over
// elements: the same bits on any number of threads.
//
//===----------------------------------------------------------------------===//
#include "cost/SumNodes.h"
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"

#include <algorithm>
#include <cstring>

namespace tgpt::runtime::cpu::TGPT_ISA {

constexpr int64_t nodeBlock = 512; // sums of a block stay in the first-level cache

KernelStatus accumulateNodes(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &samples = call.inputs[1];
  int64_t parts = call.attributes->integer("parts"), ofRank = call.attributes->integer("micro_batches") * parts;
  int64_t number = *samples.as<int32_t>() / (samples.elements() / parts) + call.attributes->integer("part");
  if (number < 0 || number >= ofRank * call.attributes->integer("ranks"))
    return {"accumulate_nodes: the number of the samples is not below their count"};
  int64_t first = number / ofRank * ofRank;
  int64_t before = countSumNodes(first, number - first), after = countSumNodes(first, number - first + 1);
  return forAccumulatorType(x.dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    forChunks(x.elements(), chunkElements, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; at += nodeBlock) {
        A sums[nodeBlock];
        int64_t n = std::min(nodeBlock, end - at);
        const A *addend = x.as<A>() + at;
        for (int64_t i = 0; i < n; ++i)
          sums[i] = addend[i] + A(0);
        for (int64_t node = before - 1; node >= after - 1; --node) {
          const A *left = call.outputs[node].as<A>() + at;
          for (int64_t i = 0; i < n; ++i)
            sums[i] = left[i] + sums[i];
        }
        std::copy_n(sums, n, call.outputs[after - 1].as<A>() + at);
      }
    });
    return {};
  });
}

KernelStatus stackNodes(const KernelCall &call) {
  size_t bytes = call.inputs[0].bytes();
  for (size_t row = 0; row < call.inputs.size(); ++row)
    std::memcpy(call.outputs[0].as<std::byte>() + row * bytes, call.inputs[row].data, bytes);
  return {};
}

namespace {
/// Sums of nodes at hand, the rightmost last; a block of elements each.
template <typename A> class NodeStack {
public:
  explicit NodeStack(int64_t n) : n(n) {}

  template <typename T> void push(SumNode node, const T *row) {
    A *to = sums[height];
    for (int64_t i = 0; i < n; ++i)
      to[i] = load(row[i]);
    nodes[height++] = node;
    while (height > 1 && nodes[height - 2].joins(nodes[height - 1]))
      join();
  }

  const A *total() {
    while (height > 1)
      join();
    return sums[0];
  }

private:
  void join() {
    --height;
    for (int64_t i = 0; i < n; ++i)
      sums[height - 1][i] += sums[height][i];
    nodes[height - 1].count += nodes[height].count;
  }

  static constexpr int64_t most = 64; // of any number of addends
  int64_t n, height = 0;
  SumNode nodes[most];
  A sums[most][nodeBlock];
};
} // namespace

KernelStatus sumNodes(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  int64_t ofRank = call.attributes->integer("nodes"), addends = call.attributes->integer("addends");
  int64_t size = y.elements(), ranks = x.dim(0) / ofRank;
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    forChunks(size, chunkElements, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; at += nodeBlock) {
        NodeStack<AccumulatorOf<T>> stack(std::min(nodeBlock, end - at));
        for (int64_t rank = 0; rank < ranks; ++rank) {
          int64_t row = rank * ofRank;
          for (int64_t next = rank * addends; next < (rank + 1) * addends; ++row) {
            SumNode node = firstSumNode(next, (rank + 1) * addends);
            stack.push(node, x.as<T>() + row * size + at);
            next = node.end();
          }
        }
        const AccumulatorOf<T> *sums = stack.total();
        for (int64_t i = 0; i < std::min(nodeBlock, end - at); ++i)
          y.as<T>()[at + i] = store<T>(sums[i]);
      }
    });
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
