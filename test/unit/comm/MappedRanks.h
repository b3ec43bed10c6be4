//===- MappedRanks.h - ranks as processes see each other, in one process -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory that every rank has mapped at an address of its own, as processes of a machine
// have: a world's state, and an arena for each rank.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_COMM_MAPPEDRANKS_H
#define TGPT_TEST_UNIT_COMM_MAPPEDRANKS_H

#include "runtime/comm/SharedMemoryWorld.h"

#include <cstddef>
#include <span>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace tgpt::test {

class MappedRanks {
public:
  MappedRanks(int64_t ranks, size_t arenaBytes) : arenaBytes((arenaBytes + 4095) / 4096 * 4096) {
    bytes = worldBytes + static_cast<size_t>(ranks) * this->arenaBytes;
    int file = ::memfd_create("test", MFD_CLOEXEC);
    if (::ftruncate(file, static_cast<off_t>(bytes)) != 0)
      throw std::runtime_error("no memory");
    for (int64_t rank = 0; rank < ranks; ++rank)
      views.push_back(static_cast<std::byte *>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)));
    ::close(file);
  }
  ~MappedRanks() {
    for (std::byte *view : views)
      ::munmap(view, bytes);
  }

  std::span<std::byte> whole(int64_t viewer) const { return {views[viewer], bytes}; }
  /// The world's memory, and the arena of `rank`, as the process of `viewer` has them.
  std::span<std::byte> world(int64_t viewer) const { return {views[viewer], worldBytes}; }
  std::byte *arena(int64_t viewer, int64_t rank) const {
    return views[viewer] + worldBytes + static_cast<size_t>(rank) * arenaBytes;
  }
  std::vector<std::byte *> arenas(int64_t viewer, const std::vector<int64_t> &ranks) const {
    std::vector<std::byte *> result;
    for (int64_t rank : ranks)
      result.push_back(arena(viewer, rank));
    return result;
  }

private:
  static constexpr size_t worldBytes = 1 << 20;
  size_t arenaBytes, bytes;
  std::vector<std::byte *> views;
};

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_COMM_MAPPEDRANKS_H
