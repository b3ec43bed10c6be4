//===- Rope.cu - rotary position embedding ----------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For i < c/2 and position p: angle = p theta^(-2i/c); (x_i, x_{i+c/2}) is rotated
// by angle, by -angle when inverse. x, y T[b,s,heads*c]; arithmetic in A, angles in f64.
// A first launch writes the cosines and sines of the s c/2 angles to the workspace; the
// second rotates, a vector of pairs a thread. Memory: 2 elements moved for each; the
// angles stay in the second-level cache. Should run at 80% of the memory's bandwidth.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/Arithmetic.h"
#include "runtime/kernels/cuda/Kernels.h"
#include "runtime/kernels/cuda/Launch.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

static constexpr int ropeThreads = 256;

template <typename A> struct AngleOperands {
  A *cosines, *sines;
  int64_t positions, half, offset;
  double theta;
};

template <typename A> __global__ void __launch_bounds__(ropeThreads) writeAngles(AngleOperands<A> o) {
  int64_t index = int64_t(blockIdx.x) * ropeThreads + threadIdx.x;
  if (index >= o.positions * o.half)
    return;
  double frequency = std::pow(o.theta, -double(index % o.half) / double(o.half));
  double angle = double(index / o.half + o.offset) * frequency;
  o.cosines[index] = A(std::cos(angle));
  o.sines[index] = A(std::sin(angle));
}

template <typename T> struct RotateOperands {
  const T *x;
  T *y;
  const AccumulatorOf<T> *cosines, *sines;
  int64_t pairs, half, heads, positions;
  AccumulatorOf<T> sign;
};

template <typename T, int V> __global__ void __launch_bounds__(ropeThreads) rotate(RotateOperands<T> o) {
  using A = AccumulatorOf<T>;
  int64_t index = (int64_t(blockIdx.x) * ropeThreads + threadIdx.x) * V;
  if (index >= o.pairs)
    return;
  int64_t head = index / o.half, i = index % o.half, token = head / o.heads;
  int64_t low = head * 2 * o.half + i, angle = token % o.positions * o.half + i;
  Pack<T, V> a = loadPack<V>(o.x + low), b = loadPack<V>(o.x + low + o.half), lower, upper;
  Pack<A, V> cosines = loadPack<V>(o.cosines + angle), sines = loadPack<V>(o.sines + angle);
  TGPT_UNROLL
  for (int k = 0; k < V; ++k) {
    A sine = o.sign * sines.at[k], left = load(a.at[k]), right = load(b.at[k]);
    lower.at[k] = store<T>(left * cosines.at[k] - right * sine);
    upper.at[k] = store<T>(right * cosines.at[k] + left * sine);
  }
  storePack(o.y + low, lower);
  storePack(o.y + low + o.half, upper);
}

size_t ropeWorkspace(const KernelCall &call) {
  const TensorView &x = call.inputs[0];
  return size_t(cost::ropeWorkspace(x.dim(1), call.attributes->integer("head_dim"),
                                    int64_t(sizeInBytes(accumulatorOf(x.dtype)))));
}

KernelStatus rope(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  int64_t c = call.attributes->integer("head_dim"), half = c / 2, positions = x.dim(1);
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    Scratch scratch;
    AngleOperands<A> angles{};
    angles.cosines = scratch.take<A>(positions * half), angles.sines = scratch.take<A>(positions * half);
    if (!angles.sines)
      return {workspaceTooSmall};
    angles.positions = positions, angles.half = half;
    angles.offset = call.attributes->integer("position_offset"), angles.theta = call.attributes->real("theta");
    RotateOperands<T> o{x.as<T>(),    y.as<T>(),        angles.cosines,
                        angles.sines, x.elements() / 2, half,
                        x.dim(2) / c, positions,        A(call.attributes->integer("inverse") ? -1 : 1)};
    constexpr int vector = vectorOf<T>;
    bool aligned = half % vector == 0 && areAligned(o.x, o.y);
    LaunchShape shape(unsigned(ceilDiv(o.pairs, int64_t(ropeThreads) * (aligned ? vector : 1))), ropeThreads);
    Launches launches;
    launches.then(LaunchShape(unsigned(ceilDiv(positions * half, ropeThreads)), ropeThreads), writeAngles<A>, angles);
    aligned ? launches.then(shape, rotate<T, vector>, o) : launches.then(shape, rotate<T, 1>, o);
    return launches;
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
