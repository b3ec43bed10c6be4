//===- LastWrites.h - who wrote each byte last ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_PLAN_LASTWRITES_H
#define TGPT_RUNTIME_PLAN_LASTWRITES_H

#include "runtime/plan/BufferExtent.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace tgpt::runtime {

/// Whether an instruction adds to an output, and so reads it.
inline bool accumulates(const plan::Instruction &instruction, int output) {
  for (const plan::Attribute &attribute : instruction.attributes())
    if (attribute.name() == "accumulate" && output < 63)
      return (attribute.i() >> output) & 1;
  return false;
}

/// Who wrote each byte of a stage's regions last.
class LastWrites {
public:
  struct Write {
    Extent extent;
    uint32_t buffer;
    uint32_t layout = 0; ///< of the value, where the check follows values
    uint32_t value = 0;  ///< its number
  };

  void add(const Write &write) {
    Pieces &pieces = regions[write.extent.region];
    int64_t begin = write.extent.begin, end = write.extent.end;
    cut(pieces, begin);
    cut(pieces, end);
    pieces.erase(pieces.lower_bound(begin), pieces.lower_bound(end));
    pieces.emplace(begin, Piece{end, write});
  }

  /// Calls visit(first byte, write) for the pieces of an extent in order; `write`
  /// is null where nobody wrote. Stops when visit returns false.
  template <typename Visit> void forEachPiece(const Extent &extent, const Visit &visit) const {
    auto found = regions.find(extent.region);
    if (found == regions.end())
      return void(visit(extent.begin, nullptr));
    auto piece = found->second.upper_bound(extent.begin);
    if (piece != found->second.begin() && std::prev(piece)->second.end > extent.begin)
      --piece;
    int64_t at = extent.begin;
    for (; piece != found->second.end() && piece->first < extent.end; at = (piece++)->second.end)
      if ((piece->first > at && !visit(at, nullptr)) || !visit(std::max(at, piece->first), &piece->second.write))
        return;
    if (at < extent.end)
      visit(at, nullptr);
  }

private:
  struct Piece {
    int64_t end;
    Write write;
  };
  using Pieces = std::map<int64_t, Piece>; // by first byte; disjoint

  /// Makes `at` a boundary between pieces.
  static void cut(Pieces &pieces, int64_t at) {
    auto next = pieces.lower_bound(at);
    if (next == pieces.begin() || std::prev(next)->second.end <= at)
      return;
    Piece rest = std::prev(next)->second;
    std::prev(next)->second.end = at;
    pieces.emplace_hint(next, at, rest);
  }

  std::map<uint32_t, Pieces> regions;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_PLAN_LASTWRITES_H
