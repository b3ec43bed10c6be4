//===- AttentionOptions.cpp - whose kernels of attention run ----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cudnn/AttentionOptions.h"

#include <mutex>
#include <utility>

using namespace tgpt::runtime;

cuda::AttentionOptions &cuda::attentionOptions() {
  static AttentionOptions options;
  return options;
}

cuda::AttentionCounts &cuda::attentionCounts() {
  static AttentionCounts counts;
  return counts;
}

void cuda::warnOfMissingAttention(const std::string &why) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (auto warn = std::exchange(attentionOptions().warn, nullptr))
    warn("attention is by our own kernels: " + why);
}
