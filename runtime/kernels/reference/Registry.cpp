//===- Registry.cpp - the table of the reference kernels --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/reference/Registry.h"
#include "runtime/kernels/api/ShapeChecks.h"
#include "runtime/kernels/reference/Kernels.h"

namespace tgpt::runtime::reference {

static constexpr KernelEntry table[] = {
#define TGPT_KERNEL(name, function, check) {name, {function, check}},
#include "runtime/kernels/api/Kernels.def"
};

std::span<const KernelEntry> kernelTable() {
  return table;
}

} // namespace tgpt::runtime::reference
