//===- TypeDispatch.h - from a run-time dtype to a C++ type --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_API_TYPEDISPATCH_H
#define TGPT_RUNTIME_KERNELS_API_TYPEDISPATCH_H

#include "runtime/kernels/api/BFloat16.h"
#include "runtime/kernels/api/Float16.h"
#include "runtime/kernels/api/Kernel.h"

namespace tgpt::runtime {

template <typename T> struct AccumulatorOfImpl { using Type = float; };
template <> struct AccumulatorOfImpl<double> { using Type = double; };

/// `A` of KERNELS.md: f64 for f64, else f32.
template <typename T> using AccumulatorOf = typename AccumulatorOfImpl<T>::Type;

constexpr DType accumulatorOf(DType compute) {
  return compute == DType::F64 ? DType::F64 : DType::F32;
}

/// Calls function(T{}) with T the storage type of a real `dtype`.
template <typename Function> KernelStatus forRealType(DType dtype, Function &&function) {
  switch (dtype) {
  case DType::F64: return function(double{});
  case DType::F32: return function(float{});
  case DType::BF16: return function(BFloat16{});
  case DType::F16: return function(Float16{});
  case DType::I32: break;
  }
  return {"dtype i32 where a real dtype is needed"};
}

/// Calls function(A{}) with A the type of an accumulation `dtype` (f64 or f32).
template <typename Function> KernelStatus forAccumulatorType(DType dtype, Function &&function) {
  if (dtype == DType::F64)
    return function(double{});
  if (dtype == DType::F32)
    return function(float{});
  return {"dtype is neither f32 nor f64"};
}

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_KERNELS_API_TYPEDISPATCH_H
