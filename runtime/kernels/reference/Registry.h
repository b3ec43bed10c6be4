//===- Registry.h - the table of the reference kernels ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_REFERENCE_REGISTRY_H
#define TGPT_RUNTIME_KERNELS_REFERENCE_REGISTRY_H

#include "runtime/kernels/api/Registry.h"

namespace tgpt::runtime::reference {

std::span<const KernelEntry> kernelTable();

} // namespace tgpt::runtime::reference

#endif // TGPT_RUNTIME_KERNELS_REFERENCE_REGISTRY_H
