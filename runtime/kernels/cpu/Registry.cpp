//===- Registry.cpp - the table of the cpu kernels --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ShapeChecks.h"
#include "runtime/kernels/cpu/Kernels.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

static constexpr KernelEntry table[] = {
#define TGPT_KERNEL(name, function, check) {name, {function, check}},
#include "runtime/kernels/api/Kernels.def"
};

std::span<const KernelEntry> kernelTable() {
  return table;
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
