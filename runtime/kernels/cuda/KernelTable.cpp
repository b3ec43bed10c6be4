//===- KernelTable.cpp - a device kernel by its name ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/KernelTable.h"
#include "runtime/plan/Error.h"

#include <algorithm>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

const DeviceKernel &cuda::kernelOf(std::span<const DeviceKernel> table, std::string_view name) {
  auto found = std::find_if(table.begin(), table.end(), [&](const DeviceKernel &k) { return k.entry.name == name; });
  if (found == table.end())
    throw Error("the table of device kernels has no " + std::string(name));
  return *found;
}
