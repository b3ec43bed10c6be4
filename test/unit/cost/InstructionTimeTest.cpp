//===- InstructionTimeTest.cpp - instructions take what their kinds take ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/InstructionTime.h"
#include "cost/CollectiveTime.h"
#include <gtest/gtest.h>

using namespace tgpt::cost;

namespace {

/// Two nodes of 4, links of 100 B/s within and 10 B/s of each rank between.
Topology topology() {
  Level node, network;
  node.bytesPerSecond = 100;
  network.bytesPerSecond = 10;
  return Topology::ofNodes(4, node, network);
}

double secondsOf(InstructionKind kind, double bytes, Group group = {}, double distance = 0) {
  InstructionFacts facts;
  facts.kind = kind;
  facts.tensorBytes = bytes;
  facts.group = group;
  facts.distance = distance;
  facts.kernel.flops = 1e15; // no part of what is communicated
  return instructionSeconds(defaultDevice(), topology(), facts);
}

// (n - 1) / n of the bytes over the ring's link, twice for an all_reduce.
TEST(InstructionTimeTest, collectivesMoveTheirShareOfTheWholeTensor) {
  EXPECT_DOUBLE_EQ(secondsOf(InstructionKind::AllReduce, 400, {4, 1}), 6);
  EXPECT_DOUBLE_EQ(secondsOf(InstructionKind::AllGather, 400, {4, 1}), 3);
  EXPECT_DOUBLE_EQ(secondsOf(InstructionKind::ReduceScatter, 400, {4, 1}), 3);
  EXPECT_DOUBLE_EQ(secondsOf(InstructionKind::AllToAll, 400, {4, 1}), 3);
  EXPECT_DOUBLE_EQ(secondsOf(InstructionKind::AllGather, 400, {2, 4}), 20); // across nodes
  EXPECT_EQ(secondsOf(InstructionKind::AllReduce, 400, {1, 1}), 0);
}

TEST(InstructionTimeTest, aMessageTakesTheLinkOfItsDistance) {
  EXPECT_DOUBLE_EQ(secondsOf(InstructionKind::Message, 400, {}, 1), 4);
  EXPECT_DOUBLE_EQ(secondsOf(InstructionKind::Message, 400, {}, 4), 40);
}

TEST(InstructionTimeTest, aKernelTakesWhatStagesAreCutBy) {
  InstructionFacts facts;
  facts.kernel = {1e10, 4e6, 2e6, Dtype::BF16, KernelKind::Attention};
  facts.tensorBytes = 1e15; // no part of what is computed
  EXPECT_EQ(instructionSeconds(defaultDevice(), topology(), facts), kernelSeconds(defaultDevice(), facts.kernel));
}

} // namespace
