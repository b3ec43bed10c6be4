//===- NcclLibrary.h - the real NCCL, loaded at run time --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library is loaded when a plan of several ranks runs on GPUs, not linked: one GPU
// needs none, and where it is missing the error says so. A build without the toolkit
// (NcclAbsent.cpp) always says so.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_NCCL_NCCLLIBRARY_H
#define TGPT_RUNTIME_COMM_NCCL_NCCLLIBRARY_H

#include "runtime/comm/nccl/NcclApi.h"

#include <memory>

namespace tgpt::runtime {

/// Loads libnccl.so.2, or the file in the environment variable TGPT_NCCL_LIBRARY. Throws Error where it cannot be
/// loaded, is older than 2.18 (the first with non-blocking splits) or lacks a function.
std::unique_ptr<NcclApi> loadNccl();

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_NCCL_NCCLLIBRARY_H
