//===- Workspace.cpp - working memory of a thread ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Workspace.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>

/// Of all threads.
static std::atomic<int64_t> heldBytes = 0;

namespace {
struct Buffer {
  void *data = nullptr;
  size_t bytes = 0;
  size_t allocated = 0;

  void release() {
    std::free(data);
    heldBytes.fetch_sub(int64_t(allocated), std::memory_order_relaxed);
    data = nullptr;
    bytes = allocated = 0;
  }
  ~Buffer() { release(); }
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
    buffer.release();
    size_t size = std::max<size_t>((bytes + offset + 63) / 64 * 64, 64);
    buffer.data = std::aligned_alloc(64, size);
    if (!buffer.data)
      return nullptr;
    buffer.bytes = bytes;
    buffer.allocated = size;
    heldBytes.fetch_add(int64_t(size), std::memory_order_relaxed);
  }
  return static_cast<char *>(buffer.data) + offset;
}

int64_t tgpt::runtime::cpu::workspaceBytes() {
  return heldBytes.load(std::memory_order_relaxed);
}
