//===- Dropout.cu - masks that depend on the global index -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y = x / (1 - probability) where word[column % 4] >= probability 2^32, else 0, with
// word = Philox4x32-10(counter = column / 4, position, sample, step; key). The columns
// and positions are those of the whole tensor: see KERNELS.md.
// x, y T[b,s,d], samples i32[b], step i32[]; arithmetic in A; y may be x.
// A thread has the 4 columns of one counter. Memory: 2 elements moved for each, and 25
// integer operations: 85% of the memory's bandwidth expected with 4-byte elements, with
// 2-byte ones about 60%, where the integer units bind.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/Kernels.h"
#include "runtime/kernels/cuda/Launch.h"
#include "runtime/kernels/cuda/Random.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

static constexpr int dropoutThreads = 256;

namespace {
template <typename T> struct DropoutOperands {
  const T *x;
  T *y;
  const int32_t *samples, *step;
  int64_t rows, positions, columns, positionOffset, columnOffset;
  uint64_t key;
  uint32_t threshold;
  AccumulatorOf<T> scale;
};
} // namespace

/// `Whole`: columnOffset and columns are multiples of 4, and so is every address.
template <typename T, bool Whole> __global__ void __launch_bounds__(dropoutThreads) dropColumns(DropoutOperands<T> o) {
  using A = AccumulatorOf<T>;
  int64_t firstGroup = o.columnOffset / 4, groups = (o.columnOffset + o.columns + 3) / 4 - firstGroup;
  int64_t index = int64_t(blockIdx.x) * dropoutThreads + threadIdx.x;
  if (index >= groups * o.rows)
    return;
  int64_t row = index / groups, group = firstGroup + index % groups;
  Words words = drawWords(uint32_t(group), uint32_t(o.positionOffset + row % o.positions),
                          uint32_t(o.samples[row / o.positions]), uint32_t(*o.step), o.key);
  int64_t first = row * o.columns + group * 4 - o.columnOffset; // of the group, maybe before the row
  if constexpr (Whole) {
    Pack<T, 4> pack = loadPack<4>(o.x + first);
    TGPT_UNROLL
    for (int k = 0; k < 4; ++k)
      pack.at[k] = store<T>(words.at[k] >= o.threshold ? load(pack.at[k]) * o.scale : A(0));
    storePack(o.y + first, pack);
  } else {
    TGPT_UNROLL
    for (int k = 0; k < 4; ++k) {
      int64_t column = group * 4 + k - o.columnOffset;
      if (column >= 0 && column < o.columns)
        o.y[first + k] = store<T>(words.at[k] >= o.threshold ? load(o.x[first + k]) * o.scale : A(0));
    }
  }
}

KernelStatus dropout(const KernelCall &call) {
  const TensorView &x = call.inputs[0];
  const Attributes &attributes = *call.attributes;
  double probability = attributes.real("probability");
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    DropoutOperands<T> o{};
    o.x = x.as<T>(), o.y = call.outputs[0].as<T>();
    o.samples = call.inputs[1].as<int32_t>(), o.step = call.inputs[2].as<int32_t>();
    o.rows = x.rows(), o.positions = x.dim(1), o.columns = x.dim(2);
    o.positionOffset = attributes.integer("position_offset"), o.columnOffset = attributes.integer("width_offset");
    o.key = uint64_t(attributes.integer("key")), o.threshold = thresholdOf(probability);
    o.scale = AccumulatorOf<T>(1 / (1 - probability));
    int64_t groups = (o.columnOffset + o.columns + 3) / 4 - o.columnOffset / 4;
    LaunchShape shape(unsigned(ceilDiv(groups * o.rows, dropoutThreads)), dropoutThreads);
    bool whole = o.columns % 4 == 0 && o.columnOffset % 4 == 0 && areAligned(o.x, o.y);
    return whole ? launch(shape, dropColumns<T, true>, o) : launch(shape, dropColumns<T, false>, o);
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
