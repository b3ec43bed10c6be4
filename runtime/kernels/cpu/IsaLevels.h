//===- IsaLevels.h - the builds of the cpu kernels --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CPU_ISALEVELS_H
#define TGPT_RUNTIME_KERNELS_CPU_ISALEVELS_H

#include "runtime/kernels/api/Registry.h"

namespace tgpt::runtime::cpu {
#if defined(__x86_64__)
namespace v2 {
std::span<const KernelEntry> kernelTable();
}
namespace v3 {
std::span<const KernelEntry> kernelTable();
}
namespace v4 {
std::span<const KernelEntry> kernelTable();
}
#else
namespace portable {
std::span<const KernelEntry> kernelTable();
}
#endif
} // namespace tgpt::runtime::cpu

#endif // TGPT_RUNTIME_KERNELS_CPU_ISALEVELS_H
