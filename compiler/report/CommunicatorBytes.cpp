//===- CommunicatorBytes.cpp - what a plan's communicators take of a device ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/report/CommunicatorBytes.h"
#include <algorithm>
#include <cmath>

using namespace tgpt;

static std::string counted(double count, const std::string &noun) {
  return std::to_string(static_cast<int64_t>(count)) + " " + noun + (count == 1 ? "" : "s");
}

OutsideBytes tgpt::communicatorBytes(const plan::Plan &plan, const cost::CommunicatorMemory &memory,
                                     const std::string &source) {
  cost::CommunicatorCount most;
  for (int stage = 0; stage < plan.stages_size(); ++stage)
    if (cost::CommunicatorCount count = communicatorsOf(plan, stage); memory.bytesOf(count) > memory.bytesOf(most))
      most = count;
  return {counted(most.communicators, "communicator") + " and " + counted(most.peers, "peer"),
          std::llround(std::min(memory.bytesOf(most), 0x1p60)), source};
}
