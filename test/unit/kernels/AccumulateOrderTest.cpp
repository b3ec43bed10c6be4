//===- AccumulateOrderTest.cpp - micro-batches are added up in the order of the tree ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cost/SumNodes.h"
#include "runtime/kernels/api/SumTree.h"
#include "test/unit/kernels/Case.h"

#include <bit>
#include <gtest/gtest.h>
#include <random>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

// Ranks whose addends are no node keep a list, which together is the tree over all.
TEST(AccumulateNodes, AddsAsTheTreeDoes) {
  std::mt19937 random{5};
  for (const CpuKernelBuild &build : judgedBuilds())
    for (auto [ranks, microBatches, parts] :
         {std::tuple<int64_t, int64_t, int64_t>{2, 3, 1}, {3, 1, 5}, {5, 7, 1}, {2, 2, 3}, {3, 6, 1}, {1, 3, 3}}) {
      int64_t addends = microBatches * parts, nodes = mostSumNodes(addends, ranks), samples = 2 * parts;
      std::vector<float> values(ranks * addends);
      Tensor rows(DType::F32, {ranks * nodes, 1});
      for (int64_t rank = 0; rank < ranks; ++rank) {
        Case call{"accumulate_nodes",
                  "accumulate_nodes",
                  DType::F32,
                  {Tensor(DType::F32, {1}), Tensor(DType::I32, {samples})},
                  std::vector<Tensor>(mostSumNodesAtHand(addends, ranks), Tensor(DType::F32, {1})),
                  {}};
        for (Tensor &node : call.outputs)
          node.set(0, 1e30); // what an earlier step left
        for (int64_t i = 0; i < addends; ++i) {
          values[rank * addends + i] = std::uniform_real_distribution<float>(-1, 1)(random);
          call.attributes = {};
          call.attributes.set("micro_batches", microBatches);
          call.attributes.set("ranks", ranks);
          call.attributes.set("parts", parts);
          call.attributes.set("part", i % parts);
          call.attributes.set("accumulate", (int64_t(1) << call.outputs.size()) - 1);
          call.inputs[0].set(0, values[rank * addends + i]);
          for (int64_t s = 0; s < samples; ++s)
            call.inputs[1].set(s, double((rank * addends + i) / parts * samples + s));
          call.outputs = call.run(*findKernel(build.table, "accumulate_nodes"));
        }
        for (int64_t node = 0; node < nodes; ++node)
          rows.set(rank * nodes + node, call.outputs[node].get(0));
      }
      Case total{"sum_nodes", "sum_nodes", DType::F32, {rows}, {Tensor(DType::F32, {1})}, {}};
      total.attributes.set("addends", withoutPowersOfTwo(addends));
      total.attributes.set("nodes", nodes);
      EXPECT_EQ(float(total.run(*findKernel(build.table, "sum_nodes")).front().get(0)),
                sumScalarsInTree<float>(ranks * addends, [&](int64_t i) { return values[i]; }))
          << build.name << " " << ranks << " ranks of " << microBatches << " x " << parts;
    }
}

// The order of the additions, where a chunk is a token's loss or a micro-batch.
TEST(AccumulateTree, AddsAsTheTreeDoes) {
  std::mt19937 random{3};
  for (int64_t microBatches : {3, 4, 5, 6, 7, 8, 16}) {
    size_t levels = std::bit_width(uint64_t(microBatches - 1));
    std::vector<float> addends(microBatches);
    for (float &addend : addends)
      addend = std::uniform_real_distribution<float>(-1, 1)(random);
    Case call{
        "accumulate_tree", "accumulate_tree", DType::F32, {Tensor(DType::F32, {1}), Tensor(DType::I32, {})}, {}, {}};
    call.outputs.assign(levels, Tensor(DType::F32, {1}));
    for (Tensor &level : call.outputs)
      level.set(0, 1e30); // what an earlier step left
    call.attributes.set("micro_batches", microBatches);
    call.attributes.set("accumulate", (int64_t(1) << levels) - 1);
    for (int64_t i = 0; i < microBatches; ++i) {
      call.inputs[0].set(0, addends[i]);
      call.inputs[1].set(0, double(i));
      call.outputs = call.run(*findKernel(KernelBackend::Cpu, "accumulate_tree"));
    }
    EXPECT_EQ(float(call.outputs.back().get(0)),
              sumScalarsInTree<float>(microBatches, [&](int64_t i) { return addends[i]; }))
        << microBatches;
  }
}
