//===- Movement.cpp - reference casts, fills and copies ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/reference/Element.h"
#include "runtime/kernels/reference/Kernels.h"

namespace tgpt::runtime::reference {

KernelStatus cast(const KernelCall &call) {
  for (int64_t i = 0; i < call.inputs[0].elements(); ++i)
    put(call.outputs[0], i, get(call.inputs[0], i));
  return {};
}

KernelStatus fill(const KernelCall &call) {
  for (int64_t i = 0; i < call.outputs[0].elements(); ++i)
    put(call.outputs[0], i, call.attributes->real("value"));
  return {};
}

KernelStatus copy(const KernelCall &call) {
  return cast(call);
}

KernelStatus accumulate(const KernelCall &call) {
  for (int64_t i = 0; i < call.inputs[0].elements(); ++i)
    put(call.outputs[0], i, get(call.outputs[0], i) + get(call.inputs[0], i));
  return {};
}

KernelStatus slice(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  int64_t along = call.attributes->integer("dim"), offset = call.attributes->integer("offset"), inner = 1;
  for (int64_t i = along + 1; i < x.rank; ++i)
    inner *= x.shape[i];
  int64_t size = y.shape[along], whole = x.shape[along];
  for (int64_t i = 0; i < y.elements(); ++i) {
    int64_t outer = i / (size * inner), position = i / inner % size;
    put(y, i, get(x, (outer * whole + position + offset) * inner + i % inner));
  }
  return {};
}

} // namespace tgpt::runtime::reference
