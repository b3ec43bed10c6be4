//===- Scalar.cpp - one element as a double ---------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between a dtype and double, each rounding once.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Scalar.h"
#include "runtime/kernels/api/BFloat16.h"
#include "runtime/kernels/api/Float16.h"

#include <algorithm>
#include <cmath>

using namespace tgpt::runtime;

double tgpt::runtime::loadElement(const TensorView &tensor, int64_t index) {
  switch (tensor.dtype) {
  case DType::F64: return tensor.as<double>()[index];
  case DType::F32: return tensor.as<float>()[index];
  case DType::BF16: return toFloat(tensor.as<BFloat16>()[index]);
  case DType::F16: return toFloat(tensor.as<Float16>()[index]);
  case DType::I32: return tensor.as<int32_t>()[index];
  }
  return 0;
}

static int32_t nearestInteger(double value) {
  if (std::isnan(value))
    return 0;
  return static_cast<int32_t>(std::clamp(std::nearbyint(value), double(INT32_MIN), double(INT32_MAX)));
}

void tgpt::runtime::storeElement(const TensorView &tensor, double value, int64_t index) {
  switch (tensor.dtype) {
  case DType::F64: tensor.as<double>()[index] = value; break;
  case DType::F32: tensor.as<float>()[index] = static_cast<float>(value); break;
  case DType::BF16: tensor.as<BFloat16>()[index] = toBFloat16(value); break;
  case DType::F16: tensor.as<Float16>()[index] = toFloat16(value); break;
  case DType::I32: tensor.as<int32_t>()[index] = nearestInteger(value); break;
  }
}
