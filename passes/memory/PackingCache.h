//===- PackingCache.h - packings that were found before ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most stages of a pipeline are alike, and so are chunks of a stage: the same buffers, at
// other positions. No IR in here.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_MEMORY_PACKINGCACHE_H
#define TGPT_PASSES_MEMORY_PACKINGCACHE_H

#include "passes/memory/PackBuffers.h"
#include <unordered_map>

namespace tgpt {

class PackingCache {
public:
  /// As `packBuffers`, wherever the positions begin. A packing that was looked for at least as hard is taken again.
  const Packing &pack(std::vector<Lifetime> buffers, int64_t alignment, Space space);

private:
  struct Entry {
    std::vector<Lifetime> buffers;
    int64_t alignment;
    Space space;
    Packing packing;
  };

  std::unordered_multimap<uint64_t, Entry> entries; ///< by a hash of what is packed
};

} // namespace tgpt

#endif // TGPT_PASSES_MEMORY_PACKINGCACHE_H
