//===- Add.cpp - reference sums of tensors ----------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/reference/Element.h"
#include "runtime/kernels/reference/Kernels.h"

namespace tgpt::runtime::reference {

KernelStatus add(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &y = call.inputs[1];
  for (int64_t i = 0; i < x.elements(); ++i)
    put(call.outputs[0], i, get(x, i) + get(y, i % y.elements()));
  return {};
}

KernelStatus addN(const KernelCall &call) {
  for (int64_t i = 0; i < call.outputs[0].elements(); ++i) {
    double sum = 0;
    for (const TensorView &x : call.inputs)
      sum += get(x, i);
    put(call.outputs[0], i, sum);
  }
  return {};
}

} // namespace tgpt::runtime::reference
