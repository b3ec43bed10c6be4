//===- Kernel.cpp - names of dtypes -------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/Kernel.h"

using namespace tgpt::runtime;

std::string_view tgpt::runtime::name(DType dtype) {
  constexpr std::string_view names[] = {"f64", "f32", "bf16", "f16", "i32"};
  return names[static_cast<size_t>(dtype)];
}
