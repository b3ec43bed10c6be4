//===- GroupOfThreads.h - a group whose members are threads ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_COMM_GROUPOFTHREADS_H
#define TGPT_TEST_UNIT_COMM_GROUPOFTHREADS_H

#include "runtime/comm/SharedMemoryGroup.h"
#include "test/unit/comm/HostTensor.h"
#include "test/unit/comm/RankThreads.h"

#include <numeric>

namespace tgpt::test {

inline std::vector<int64_t> firstRanks(int64_t count) {
  std::vector<int64_t> ranks(count);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// Calls `call` with the view of each member's copy of `inputs` and outputs of a shape.
template <typename Call>
HostTensors runThreads(HostTensors &inputs, const std::vector<int64_t> &outputShape, const Call &call) {
  int64_t size = static_cast<int64_t>(inputs.size());
  runtime::SharedMemoryWorld world({size, size});
  HostTensors outputs(inputs.size(), HostTensor(inputs[0].view.dtype, outputShape));
  runtime::SharedMemoryGroup group(world, "group 0", firstRanks(size));
  onRanks(size, [&](int64_t m) { call(group.member(m), inputs[m].view, outputs[m].view); });
  return outputs;
}

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_COMM_GROUPOFTHREADS_H
