//===- Kernels.h - the reference kernels ------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kernel of KERNELS.md once, slow, in f64 whatever the dtype, written like
// its formula. They judge the kernels of every backend.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_REFERENCE_KERNELS_H
#define TGPT_RUNTIME_KERNELS_REFERENCE_KERNELS_H

#include "runtime/kernels/api/Kernel.h"

namespace tgpt::runtime::reference {

#define TGPT_KERNEL(name, function, check) KernelStatus function(const KernelCall &call);
#include "runtime/kernels/api/Kernels.def"

} // namespace tgpt::runtime::reference

#endif // TGPT_RUNTIME_KERNELS_REFERENCE_KERNELS_H
