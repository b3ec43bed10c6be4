//===- Movement.cu - filling, copying and slicing ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fill:  every element = value; of many tensors in a launch (TensorBatch.h), all outputs.
// copy:  y = x, any dtype; the same buffer is allowed. Serves buckets.
// slice: y = x[offset : offset + y.dim(dim)] along dim, any dtype.
// Elements are moved as bits of 2, 4 or 8 bytes, 16 bytes a thread where rows allow it;
// should run at 90% of the memory's bandwidth. No arithmetic.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/Elements.h"
#include "runtime/kernels/cuda/Kernels.h"
#include "runtime/kernels/cuda/TensorBatch.h"

#include "runtime/kernels/api/BFloat16.h"
#include "runtime/kernels/api/Float16.h"

#include <bit>

namespace tgpt::runtime::cuda::TGPT_TARGET {

namespace {
template <typename Bits> struct FilledTensor {
  Bits *y;
  int64_t elements;
};
template <typename Bits>
using FillBatch = TensorBatch<FilledTensor<Bits>, mostTensors<FilledTensor<Bits>>(sizeof(uint64_t))>;

template <typename Bits> struct Fill {
  Bits value;
  Bits *y;
  template <int N> __device__ void apply(int64_t i) const {
    Pack<Bits, N> out;
    TGPT_UNROLL
    for (int k = 0; k < N; ++k)
      out.at[k] = value;
    storePack(y + i, out);
  }
};

/// Rows of `width` elements, taken from rows that are `stride` apart.
template <typename Bits> struct CopyRows {
  const Bits *x;
  Bits *y;
  int64_t width, stride;
  template <int N> __device__ void apply(int64_t i) const {
    storePack(y + i, loadPack<N>(x + i / width * stride + i % width));
  }
};
} // namespace

template <typename Bits> inline constexpr int64_t filledPerBlock = int64_t(elementThreads) * vectorOf<Bits> * 16;

template <typename Bits>
__global__ void __launch_bounds__(elementThreads)
    fillTensors(const __grid_constant__ FillBatch<Bits> batch, Bits value) {
  int at = batch.tensorOf(blockIdx.x);
  const FilledTensor<Bits> &o = batch.tensors[at];
  int64_t begin = (blockIdx.x - batch.firstBlock[at]) * filledPerBlock<Bits>;
  applyToShare<vectorOf<Bits>>(Fill<Bits>{value, o.y}, begin, lesser(begin + filledPerBlock<Bits>, o.elements),
                               areAlignedOnDevice(o.y));
}

template <typename Bits> static KernelStatus fillWith(std::span<const TensorView> tensors, Bits value) {
  FillBatch<Bits> batch;
  KernelStatus status;
  for (size_t i = 0; i < tensors.size() && status.ok(); ++i) {
    int64_t elements = tensors[i].elements();
    batch.add({tensors[i].as<Bits>(), elements}, ceilDiv(elements, filledPerBlock<Bits>));
    if (!batch.isFull() && i + 1 < tensors.size())
      continue;
    status = launch(LaunchShape(unsigned(batch.blocks()), elementThreads), fillTensors<Bits>, batch, value);
    batch.clear();
  }
  return status;
}

KernelStatus fill(const KernelCall &call) {
  std::span<const TensorView> y = call.outputs;
  double value = call.attributes->real("value");
  switch (y[0].dtype) {
  case DType::F64: return fillWith(y, std::bit_cast<uint64_t>(value));
  case DType::F32: return fillWith(y, std::bit_cast<uint32_t>(float(value)));
  case DType::BF16: return fillWith(y, toBFloat16(value).bits);
  case DType::F16: return fillWith(y, toFloat16(value).bits);
  case DType::I32: break;
  }
  return fillWith(y, uint32_t(int32_t(std::clamp(std::nearbyint(value), double(INT32_MIN), double(INT32_MAX)))));
}

template <typename Bits>
static KernelStatus copyRows(const void *x, const TensorView &y, int64_t width, int64_t stride, int64_t offset) {
  CopyRows<Bits> o{static_cast<const Bits *>(x) + offset, y.as<Bits>(), width, stride};
  bool wholeVectors = width == y.elements() || (width % vectorOf<Bits> == 0 && stride % vectorOf<Bits> == 0);
  return launchElements<vectorOf<Bits>>(o, y.elements(), wholeVectors && areAligned(o.x, o.y));
}

static KernelStatus copyBits(const void *x, const TensorView &y, int64_t width, int64_t stride, int64_t offset) {
  switch (sizeInBytes(y.dtype)) {
  case 8: return copyRows<uint64_t>(x, y, width, stride, offset);
  case 4: return copyRows<uint32_t>(x, y, width, stride, offset);
  default: return copyRows<uint16_t>(x, y, width, stride, offset);
  }
}

KernelStatus copy(const KernelCall &call) {
  int64_t n = call.inputs[0].elements();
  return call.inputs[0].data == call.outputs[0].data ? KernelStatus{}
                                                     : copyBits(call.inputs[0].data, call.outputs[0], n, n, 0);
}

KernelStatus slice(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  int64_t along = call.attributes->integer("dim"), inner = 1;
  for (int64_t i = along + 1; i < x.rank; ++i)
    inner *= x.shape[i];
  return copyBits(x.data, y, y.shape[along] * inner, x.shape[along] * inner,
                  call.attributes->integer("offset") * inner);
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
