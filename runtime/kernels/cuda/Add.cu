//===- Add.cu - sums of tensors, element by element -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// add:   z[l,t] = x[l,t] + y[t]; z may be x. Serves residuals (no l) and biases.
// add_n: y = x0 + x1 + ..., in operand order, in A, rounded once; y may be x0.
// add moves 3 elements for each computed (2 where y is a bias, which stays in the
// second-level cache), add_n one more than it has operands, some 500 in a launch (beyond,
// sums wait in A): the squared norms of all parameters are one. Both should run at 90% of
// the memory's bandwidth.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/Elements.h"
#include "runtime/kernels/cuda/Kernels.h"
#include "runtime/kernels/cuda/TensorBatch.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

namespace {
template <typename T> struct Add {
  const T *x, *y;
  T *z;
  int64_t width; ///< of y, a multiple of the vector unless that is 1
  template <int N> __device__ void apply(int64_t i) const {
    Pack<T, N> xs = loadPack<N>(x + i), ys = loadPack<N>(y + i % width), out;
    TGPT_UNROLL
    for (int k = 0; k < N; ++k)
      out.at[k] = store<T>(load(xs.at[k]) + load(ys.at[k]));
    storePack(z + i, out);
  }
};

inline constexpr int mostOperands = int(cost::mostAddends);

/// y = the sums so far (where there are any) + operands; kept in A unless `y` is set.
template <typename T> struct AddN {
  const T *x[mostOperands];
  int count;
  const AccumulatorOf<T> *before;
  AccumulatorOf<T> *after;
  T *y;
  template <int N> __device__ void apply(int64_t i) const {
    using A = AccumulatorOf<T>;
    Pack<A, N> sums;
    if (before)
      sums = loadPack<N>(before + i);
    else
      for (int k = 0; k < N; ++k)
        sums.at[k] = A(0);
    for (int operand = 0; operand < count; ++operand) {
      Pack<T, N> in = loadPack<N>(x[operand] + i);
      TGPT_UNROLL
      for (int k = 0; k < N; ++k)
        sums.at[k] += load(in.at[k]);
    }
    if (!y)
      return storePack(after + i, sums);
    Pack<T, N> out;
    TGPT_UNROLL
    for (int k = 0; k < N; ++k)
      out.at[k] = store<T>(sums.at[k]);
    storePack(y + i, out);
  }
};
static_assert(sizeof(AddN<double>) + sizeof(int64_t) <= argumentBytes);
} // namespace

template <int Vector, typename T>
__global__ void __launch_bounds__(elementThreads) addOperands(const __grid_constant__ AddN<T> operation, int64_t n) {
  constexpr int64_t share = int64_t(elementThreads) * Vector;
  for (int64_t begin = blockIdx.x * share; begin < n; begin += gridDim.x * share)
    applyToShare<Vector>(operation, begin, lesser(begin + share, n), true);
}

KernelStatus add(const KernelCall &call) {
  return forRealType(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    Add<T> o{call.inputs[0].as<T>(), call.inputs[1].as<T>(), call.outputs[0].as<T>(), call.inputs[1].elements()};
    int64_t n = call.inputs[0].elements();
    bool wholeVectors = o.width == n || o.width % vectorOf<T> == 0;
    return launchElements<vectorOf<T>>(o, n, wholeVectors && areAligned(o.x, o.y, o.z));
  });
}

size_t addNWorkspace(const KernelCall &call) {
  const TensorView &x = call.inputs[0];
  return size_t(
      cost::addWorkspace(int64_t(call.inputs.size()), x.elements(), int64_t(sizeInBytes(accumulatorOf(x.dtype)))));
}

KernelStatus addN(const KernelCall &call) {
  return forRealType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    int64_t n = call.inputs[0].elements();
    bool needsSums = call.inputs.size() > mostOperands;
    A *sums = needsSums ? Scratch().take<A>(n) : nullptr;
    if (needsSums && !sums)
      return {workspaceTooSmall};
    for (size_t first = 0; first < call.inputs.size(); first += mostOperands) {
      AddN<T> o{};
      bool isLast = first + mostOperands >= call.inputs.size(), aligned = true;
      o.count = int(std::min<size_t>(mostOperands, call.inputs.size() - first));
      for (int i = 0; i < o.count; ++i) {
        o.x[i] = call.inputs[first + i].as<T>();
        aligned = aligned && areAligned(o.x[i]);
      }
      o.before = first == 0 ? nullptr : sums;
      o.after = sums;
      o.y = isLast ? call.outputs[0].as<T>() : nullptr;
      aligned = aligned && areAligned(o.y);
      constexpr int64_t mostBlocks = 1 << 20;
      int64_t share = int64_t(elementThreads) * (aligned ? vectorOf<T> : 1);
      LaunchShape shape(unsigned(std::min(ceilDiv(n, share), mostBlocks)), elementThreads);
      KernelStatus status =
          aligned ? launch(shape, addOperands<vectorOf<T>, T>, o, n) : launch(shape, addOperands<1, T>, o, n);
      if (!status.ok())
        return status;
    }
    return {};
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
