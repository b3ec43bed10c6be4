//===- NcclApi.cpp - names and types of NCCL --------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/nccl/NcclApi.h"

using namespace tgpt::runtime;

const char *tgpt::runtime::name(NcclResult result) {
  static constexpr const char *names[] = {"ncclSuccess",       "ncclUnhandledCudaError", "ncclSystemError",
                                          "ncclInternalError", "ncclInvalidArgument",    "ncclInvalidUsage",
                                          "ncclRemoteError",   "ncclInProgress"};
  auto number = static_cast<size_t>(result);
  return number < std::size(names) ? names[number] : "an unknown NCCL error";
}

NcclType tgpt::runtime::ncclTypeOf(DType dtype) {
  switch (dtype) {
  case DType::F64: return NcclType::Float64;
  case DType::F32: return NcclType::Float32;
  case DType::BF16: return NcclType::BFloat16;
  case DType::F16: return NcclType::Float16;
  case DType::I32: return NcclType::Int32;
  }
  return NcclType::Int32;
}

DType tgpt::runtime::dtypeOf(NcclType type) {
  switch (type) {
  case NcclType::Float64: return DType::F64;
  case NcclType::Float32: return DType::F32;
  case NcclType::BFloat16: return DType::BF16;
  case NcclType::Float16: return DType::F16;
  case NcclType::Int32: return DType::I32;
  }
  return DType::I32;
}
