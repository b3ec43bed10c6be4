//===- NcclAbsent.cpp - a build without NCCL --------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/nccl/NcclLibrary.h"
#include "runtime/plan/Error.h"

std::unique_ptr<tgpt::runtime::NcclApi> tgpt::runtime::loadNccl() {
  throw Error("this build has no NCCL: configure it where the CUDA toolkit and nccl.h are (TGPT_CUDA=ON)");
}
