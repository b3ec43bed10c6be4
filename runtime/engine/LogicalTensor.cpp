//===- LogicalTensor.cpp - a variable, unsharded ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/LogicalTensor.h"
#include "runtime/engine/ShardRun.h"

#include <cstring>

using namespace tgpt::runtime;

void LogicalTensor::setRun(const ShardRun &run, const std::byte *held) {
  size_t size = sizeInBytes(dtype);
  std::byte *global = bytes.data();
  forEachRow(run, [&](int64_t from, int64_t to, int64_t length) {
    std::memcpy(global + to * size, held + from * size, length * size);
  });
}

void LogicalTensor::copyRun(const ShardRun &run, std::byte *held) const {
  size_t size = sizeInBytes(dtype);
  const std::byte *global = bytes.data();
  forEachRow(run, [&](int64_t to, int64_t at, int64_t length) {
    std::memcpy(held + to * size, global + at * size, length * size);
  });
}
