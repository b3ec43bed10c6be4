//===- CudaArchitectures.h - which GPUs a build has code for ----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CUDA says that there is no kernel image, at the first launch. This says why, before.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_DEVICE_CUDAARCHITECTURES_H
#define TGPT_RUNTIME_DEVICE_CUDAARCHITECTURES_H

#include <string>
#include <string_view>

namespace tgpt::runtime {

/// Empty, or why code for `architectures` ("80 90a", as in TGPT_CUDA_ARCHITECTURES) does not run on a GPU of compute
/// capability `major`.`minor`. One with a letter runs on that capability alone, others also on all later ones.
std::string whyNoCode(std::string_view architectures, int major, int minor);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_DEVICE_CUDAARCHITECTURES_H
