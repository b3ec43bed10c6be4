//===- Workspace.cpp - working memory of a thread ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Workspace.h"

#include <array>
#include <cstdlib>

namespace {
struct Buffer {
  void *data = nullptr;
  size_t bytes = 0;
  ~Buffer() { std::free(data); }
};
} // namespace

static thread_local std::array<Buffer, size_t(tgpt::runtime::cpu::WorkspaceUse::Count)> buffers;

/// Each buffer starts at another multiple of 576 bytes: bases that agree in their
/// low 12 address bits would alias in the first-level cache.
static constexpr size_t staggerBytes = 576;

void *tgpt::runtime::cpu::workspace(WorkspaceUse use, size_t bytes) {
  Buffer &buffer = buffers[size_t(use)];
  size_t offset = staggerBytes * size_t(use);
  if (buffer.bytes < bytes || !buffer.data) {
    std::free(buffer.data);
    size_t size = (bytes + offset + 63) / 64 * 64;
    buffer.data = std::aligned_alloc(64, size ? size : 64);
    buffer.bytes = buffer.data ? bytes : 0;
  }
  return buffer.data ? static_cast<char *>(buffer.data) + offset : nullptr;
}
