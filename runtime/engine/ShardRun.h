//===- ShardRun.h - the elements of a variable that a rank holds -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shard is a box of the logical tensor; where a padded variable reaches beyond the
// tensor, so does the box, and the elements outside are padding. A rank holds all of its elements, or, where
// the variable lies in a flat tensor cut into pieces, a run of them in row-major
// order, which may be empty.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_SHARDRUN_H
#define TGPT_RUNTIME_ENGINE_SHARDRUN_H

#include "runtime/kernels/api/Kernel.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tgpt::runtime {

/// Which part of a logical tensor a rank holds.
struct Shard {
  std::array<int64_t, TensorView::maxRank> start{};       // index of local element 0 in the logical tensor
  std::array<int64_t, TensorView::maxRank> globalShape{}; // of the logical tensor
};

/// Consecutive elements of a shard, in memory.
struct ShardRun {
  Shard shard;
  std::array<int64_t, TensorView::maxRank> shape{}; // of the whole shard
  int rank = 0;
  int64_t first = 0;   // of these elements, within the shard
  TensorView elements; // of one dimension

  /// All elements of a shard.
  static ShardRun wholeOf(const Shard &shard, const TensorView &local) {
    ShardRun run{shard, {}, local.rank, 0, local};
    std::copy_n(local.shape.begin(), local.rank, run.shape.begin());
    run.elements.rank = 1;
    run.elements.shape[0] = local.elements();
    return run;
  }

  int64_t count() const { return elements.shape[0]; }
};

/// Calls body(held element, global element, length) for the parts of the run that lie
/// within one row, and so are neighbours in the logical tensor too. Padding is passed over.
template <typename Body> void forEachRow(const ShardRun &run, const Body &body) {
  int64_t row = run.rank == 0 ? 1 : run.shape[run.rank - 1];
  for (int64_t held = 0, length; held < run.count(); held += length) {
    int64_t rest = run.first + held, global = 0, stride = 1;
    length = std::min(row - rest % row, run.count() - held);
    int64_t inside = length;
    for (int i = run.rank - 1; i >= 0; rest /= run.shape[i--]) {
      int64_t index = run.shard.start[i] + rest % run.shape[i];
      inside = std::min(inside, i == run.rank - 1                  ? run.shard.globalShape[i] - index
                                : index < run.shard.globalShape[i] ? length
                                                                   : 0);
      global += index * stride;
      stride *= run.shard.globalShape[i];
    }
    if (inside > 0)
      body(held, global, inside);
  }
}

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_SHARDRUN_H
