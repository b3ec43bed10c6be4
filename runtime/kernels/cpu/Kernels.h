//===- Kernels.h - the cpu kernels, once per instruction set ----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TGPT_ISA names the namespace of this build of the folder: v2, v3, v4 (the
// x86-64 levels) or portable. Each build has a table of its own; ../Registry.cpp
// picks one at run time.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CPU_KERNELS_H
#define TGPT_RUNTIME_KERNELS_CPU_KERNELS_H

#include "runtime/kernels/api/Registry.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

std::span<const KernelEntry> kernelTable();

#define TGPT_KERNEL(name, function, check) KernelStatus function(const KernelCall &call);
#include "runtime/kernels/api/Kernels.def"

} // namespace tgpt::runtime::cpu::TGPT_ISA

#endif // TGPT_RUNTIME_KERNELS_CPU_KERNELS_H
