//===- Nodes.cu - lists of nodes of a tree of additions ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a rank keeps where its addends are no node of the tree of api/SumTree.h, and how
// all ranks' nodes are added (cost/SumNodes.h; cpu/Nodes.cpp says which is which).
// accumulate_nodes: x, the nodes that end where it begins, and one write; the number of
//               the sample is in device memory, so every node is an operand of the launch.
// stack_nodes:  copies, one launch each.
// sum_nodes:    a thread has an element and a stack of sums; every row is read once.
// All three should run at 85% of the memory's bandwidth.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/Elements.h"
#include "runtime/kernels/cuda/Fault.h"
#include "runtime/kernels/cuda/Kernels.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

namespace {
inline constexpr int mostNodes = 48; // of a rank: two for each doubling of its addends

/// Addends of the node that begins at `first` and ends at `end` at the latest.
__host__ __device__ inline int64_t nodeSize(int64_t first, int64_t end) {
  int64_t size = 1;
  while (2 * size <= end - first && first % (2 * size) == 0)
    size *= 2;
  return size;
}

__device__ inline int countNodes(int64_t first, int64_t end) {
  int nodes = 0;
  for (; first < end; first += nodeSize(first, end))
    ++nodes;
  return nodes;
}

template <typename A> struct AccumulateNodes {
  const A *x;
  const int32_t *samples;
  A *nodes[mostNodes];
  int64_t samplesOfPart, part, ofRank, ranks;
  int count;
  int32_t *fault;

  template <int N> __device__ void apply(int64_t i) const {
    int64_t number = *samples / samplesOfPart + part, first = number / ofRank * ofRank;
    if (number < 0 || number >= ofRank * ranks)
      return raise(fault, Fault::MicroBatchBeyondCount);
    int before = countNodes(first, number), after = countNodes(first, number + 1);
    Pack<A, N> sums = loadPack<N>(x + i);
    TGPT_UNROLL
    for (int k = 0; k < N; ++k)
      sums.at[k] += A(0); // no node is -0
    for (int node = before - 1; node >= after - 1; --node) {
      Pack<A, N> in = loadPack<N>(nodes[node] + i);
      TGPT_UNROLL
      for (int k = 0; k < N; ++k)
        sums.at[k] = in.at[k] + sums.at[k];
    }
    storePack(nodes[after - 1] + i, sums);
  }
};

template <typename T> struct SumNodes {
  const T *x;
  T *y;
  int64_t size, ranks, addends, ofRank;

  template <int N> __device__ void apply(int64_t i) const {
    for (int k = 0; k < N; ++k)
      y[i + k] = store<T>(sumAt(i + k));
  }

  __device__ AccumulatorOf<T> sumAt(int64_t i) const {
    AccumulatorOf<T> sums[mostNodes];
    int64_t begins[mostNodes], sizes[mostNodes];
    int height = 0;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const T *row = x + rank * ofRank * size + i;
      for (int64_t next = rank * addends, end = next + addends; next < end; next += nodeSize(next, end), row += size) {
        sums[height] = load(*row), begins[height] = next, sizes[height] = nodeSize(next, end);
        ++height;
        while (height > 1 && sizes[height - 2] == sizes[height - 1] &&
               begins[height - 2] % (2 * sizes[height - 2]) == 0) {
          --height;
          sums[height - 1] += sums[height];
          sizes[height - 1] *= 2;
        }
      }
    }
    for (; height > 1; --height)
      sums[height - 2] += sums[height - 1];
    return sums[0];
  }
};
} // namespace

KernelStatus accumulateNodes(const KernelCall &call) {
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    if (call.outputs.size() > mostNodes)
      return {"accumulate_nodes: more nodes than a launch has operands for"};
    AccumulateNodes<A> o{};
    int64_t parts = call.attributes->integer("parts");
    o.x = call.inputs[0].as<A>(), o.samples = call.inputs[1].as<int32_t>();
    o.samplesOfPart = call.inputs[1].elements() / parts, o.part = call.attributes->integer("part");
    o.ofRank = call.attributes->integer("micro_batches") * parts, o.ranks = call.attributes->integer("ranks");
    o.count = int(call.outputs.size());
    o.fault = queue().fault;
    bool aligned = areAligned(o.x);
    for (int node = 0; node < o.count; ++node) {
      o.nodes[node] = call.outputs[node].as<A>();
      aligned = aligned && areAligned(o.nodes[node]);
    }
    return launchElements<vectorOf<A>>(o, call.inputs[0].elements(), aligned);
  });
}

KernelStatus stackNodes(const KernelCall &call) {
  for (size_t row = 0; row < call.inputs.size(); ++row) {
    TensorView to = call.inputs[row];
    to.data = call.outputs[0].as<std::byte>() + row * to.bytes();
    KernelCall copyOfRow{call.inputs.subspan(row, 1), {&to, 1}, call.attributes};
    if (KernelStatus status = copy(copyOfRow); !status.ok())
      return status;
  }
  return {};
}

KernelStatus sumNodes(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    int64_t ofRank = call.attributes->integer("nodes");
    SumNodes<T> o{x.as<T>(), y.as<T>(), y.elements(), x.dim(0) / ofRank, call.attributes->integer("addends"), ofRank};
    return launchElements<1>(o, y.elements(), false);
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
