//===- AdamW.cu - the optimizer of many parameters --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// g = grad scale; m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
// p = p - lr (m/(1-b1^step) / (sqrt(v/(1-b2^step)) + eps) + weight_decay p).
// At step 0 nothing. Everything in A (the parameter is the master copy), in one pass;
// outputs may be inputs 0, 2 and 3. A launch takes many parameters (TensorBatch.h), those of
// several calls that differ in nothing else (fusion/TensorGroups.cpp): inputs and outputs of one
// after the other's, then the scalars. A fourth output of each is the parameter rounded to
// a shorter dtype, as `cast` does it. Memory: 4 reads and 3 writes of A for each element,
// and what is rounded; should run at 90% of the memory's bandwidth. What depends on the
// step alone is computed once a block: the scalars are in device memory.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/Elements.h"
#include "runtime/kernels/cuda/Kernels.h"
#include "runtime/kernels/cuda/TensorBatch.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

namespace {
/// Of one parameter; `rounded` may be null.
template <typename A, typename T> struct UpdatedTensor {
  const A *param, *grad, *moment1, *moment2;
  A *newParam, *newMoment1, *newMoment2;
  T *rounded;
  int64_t elements;
};

template <typename A> struct UpdateScalars {
  const A *scale, *rate, *step;
  double beta1, beta2, epsilon, decay;
};

template <typename A, typename T>
using UpdateBatch = TensorBatch<UpdatedTensor<A, T>, mostTensors<UpdatedTensor<A, T>>(sizeof(UpdateScalars<A>))>;

/// What does not depend on the element.
template <typename A> struct UpdateFactors {
  A scale, beta1, beta2, rest1, rest2, stride, correction2, epsilon, decay;
};
} // namespace

template <typename A> __device__ UpdateFactors<A> updateFactors(const UpdateScalars<A> &o) {
  double rate = *o.rate, step = *o.step;
  return {*o.scale,
          A(o.beta1),
          A(o.beta2),
          A(1 - o.beta1),
          A(1 - o.beta2),
          A(rate / (1 - std::pow(o.beta1, step))),
          A(1 / (1 - std::pow(o.beta2, step))),
          A(o.epsilon),
          A(rate * o.decay)};
}

template <typename A, typename T> struct UpdateElements {
  const UpdatedTensor<A, T> &o;
  UpdateFactors<A> f;
  bool isStep;

  template <int N> __device__ void apply(int64_t i) const {
    Pack<A, N> p = loadPack<N>(o.param + i), m = loadPack<N>(o.moment1 + i), v = loadPack<N>(o.moment2 + i);
    if (isStep) {
      Pack<A, N> grad = loadPack<N>(o.grad + i);
      TGPT_UNROLL
      for (int k = 0; k < N; ++k) {
        A g = grad.at[k] * f.scale;
        m.at[k] = f.beta1 * m.at[k] + f.rest1 * g;
        v.at[k] = f.beta2 * v.at[k] + f.rest2 * g * g;
        p.at[k] -= f.stride * m.at[k] / (std::sqrt(v.at[k] * f.correction2) + f.epsilon) + f.decay * p.at[k];
      }
    }
    storePack(o.newParam + i, p);
    storePack(o.newMoment1 + i, m);
    storePack(o.newMoment2 + i, v);
    if (!o.rounded)
      return;
    Pack<T, N> rounded;
    TGPT_UNROLL
    for (int k = 0; k < N; ++k)
      convert(p.at[k], rounded.at[k]);
    storePack(o.rounded + i, rounded);
  }
};

template <typename A> inline constexpr int64_t updatedPerBlock = int64_t(elementThreads) * vectorOf<A> * 16;

template <typename A, typename T>
__global__ void __launch_bounds__(elementThreads)
    update(const __grid_constant__ UpdateBatch<A, T> batch, UpdateScalars<A> scalars) {
  TGPT_SHARED(UpdateFactors<A>, factors, 1);
  bool isStep = *scalars.step != A(0);
  if (isStep && threadIdx.x == 0)
    factors[0] = updateFactors(scalars);
  __syncthreads();
  int at = batch.tensorOf(blockIdx.x);
  const UpdatedTensor<A, T> &o = batch.tensors[at];
  int64_t begin = (blockIdx.x - batch.firstBlock[at]) * updatedPerBlock<A>;
  UpdateElements<A, T> operation{o, isStep ? UpdateFactors<A>(factors[0]) : UpdateFactors<A>{}, isStep};
  bool aligned =
      areAlignedOnDevice(o.param, o.grad, o.moment1, o.moment2, o.newParam, o.newMoment1, o.newMoment2, o.rounded);
  applyToShare<vectorOf<A>>(operation, begin, lesser(begin + updatedPerBlock<A>, o.elements), aligned);
}

template <typename A, typename T> static KernelStatus updateAll(const KernelCall &call) {
  const Attributes &attributes = *call.attributes;
  size_t count = call.inputs.size() / 4, outputs = call.outputs.size() / count;
  auto scalar = [&](size_t i) -> const A * { return call.inputs[4 * count + i].as<A>(); };
  UpdateScalars<A> scalars{scalar(0),
                           scalar(1),
                           scalar(2),
                           attributes.real("beta1"),
                           attributes.real("beta2"),
                           attributes.real("epsilon"),
                           attributes.real("weight_decay")};
  UpdateBatch<A, T> batch;
  KernelStatus status;
  for (size_t i = 0; i < count && status.ok(); ++i) {
    auto in = [&](size_t k) { return call.inputs[4 * i + k].as<A>(); };
    auto out = [&](size_t k) { return call.outputs[outputs * i + k].as<A>(); };
    int64_t elements = call.inputs[4 * i].elements();
    batch.add({in(0), in(1), in(2), in(3), out(0), out(1), out(2),
               outputs > 3 ? call.outputs[outputs * i + 3].as<T>() : nullptr, elements},
              ceilDiv(elements, updatedPerBlock<A>));
    if (!batch.isFull() && i + 1 < count)
      continue;
    status = launch(LaunchShape(unsigned(batch.blocks()), elementThreads), update<A, T>, batch, scalars);
    batch.clear();
  }
  return status;
}

KernelStatus adamW(const KernelCall &call) {
  bool isRounding = call.outputs.size() / (call.inputs.size() / 4) > 3;
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    if constexpr (std::is_same_v<A, float>)
      if (isRounding)
        return call.outputs[3].dtype == DType::F16 ? updateAll<A, Float16>(call) : updateAll<A, BFloat16>(call);
    return updateAll<A, A>(call);
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
