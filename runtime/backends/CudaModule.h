//===- CudaModule.h - the door of the library that needs CUDA ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_BACKENDS_CUDAMODULE_H
#define TGPT_RUNTIME_BACKENDS_CUDAMODULE_H

#include "runtime/engine/DeviceBackend.h"

namespace tgpt::runtime {

inline constexpr const char *cudaModuleFile = "tgpt-cuda.so";
inline constexpr const char *cudaModuleSymbol = "tgptMakeCudaBackend";
using MakeCudaBackend = void(DeviceBackend &backend);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_BACKENDS_CUDAMODULE_H
