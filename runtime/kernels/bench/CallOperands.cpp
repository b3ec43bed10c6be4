//===- CallOperands.cpp - memory for the operands of a call -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/bench/CallOperands.h"
#include "runtime/kernels/api/BFloat16.h"
#include "runtime/kernels/api/Float16.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <cstring>

using namespace tgpt::runtime;

/// Values repeat after so many elements, of reals and of ids.
static constexpr int64_t period = 61 * 16;

static void fillOneByOne(const TensorView &view, int64_t elements) {
  for (int64_t i = 0; i < elements; ++i) {
    double value = 0.25 + double(i % 61) / 256;
    switch (view.dtype) {
    case DType::F64: view.as<double>()[i] = value; break;
    case DType::F32: view.as<float>()[i] = float(value); break;
    case DType::BF16: view.as<BFloat16>()[i] = toBFloat16(value); break;
    case DType::F16: view.as<Float16>()[i] = toFloat16(value); break;
    case DType::I32: view.as<int32_t>()[i] = int32_t(i * 7 % 16); break;
    }
  }
}

void tgpt::runtime::fillWithValues(const TensorView &view) {
  fillOneByOne(view, std::min(view.elements(), period));
  auto *bytes = static_cast<char *>(view.data);
  size_t all = view.bytes();
  for (size_t filled = size_t(period) * sizeInBytes(view.dtype); filled < all; filled *= 2)
    std::memcpy(bytes + filled, bytes, std::min(filled, all - filled));
}

TensorView tgpt::runtime::viewOf(const OperandShape &operand) {
  TensorView view;
  view.dtype = operand.dtype;
  view.rank = uint8_t(operand.shape.size());
  std::copy(operand.shape.begin(), operand.shape.end(), view.shape.begin());
  return view;
}

CallViews::CallViews(const Workload &workload) : workload(workload) {
  for (const OperandShape &operand : workload.inputs)
    inputs.push_back(viewOf(operand));
  for (const OperandShape &operand : workload.outputs)
    outputs.push_back(viewOf(operand));
}

CallOperands::CallOperands(const Workload &workload) : workload(workload) {
  for (const OperandShape &operand : workload.inputs)
    inputs.push_back(add(operand));
  for (const OperandShape &operand : workload.outputs)
    outputs.push_back(add(operand));
}

TensorView CallOperands::add(const OperandShape &operand) {
  TensorView view = viewOf(operand);
  // Bases that agree in their low 12 address bits would alias in the first-level cache.
  size_t offset = 576 * (memory.size() + 1);
  memory.emplace_back(static_cast<char *>(std::aligned_alloc(4096, (view.bytes() + offset + 4095) / 4096 * 4096)));
  if (!memory.back())
    throw Error("no memory for an operand of " + std::to_string(view.bytes()) + " bytes");
  view.data = memory.back().get() + offset;
  fillWithValues(view);
  return view;
}
