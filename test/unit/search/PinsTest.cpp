//===- PinsTest.cpp - choices as text ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/search/Pins.h"
#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::search;

namespace {

std::string errorOf(const std::string &text) {
  try {
    parsePins(text);
  } catch (const PinError &error) {
    return error.what();
  }
  return "";
}

TEST(PinsTest, readsEveryChoice) {
  Pins pins =
      parsePins("tp=8,sp=on,pp=2,vpp=3,schedule=zero-bubble,dp=4,zero=2,zero-group=2,recompute=selective,"
                "overlap=off,rank-order=pp,dp,tp,bucket-mib=100,prefetch=0,micro-batch-samples=5,micro-batches=6");
  EXPECT_EQ(pins.tp, 8);
  EXPECT_EQ(pins.sp, true);
  EXPECT_EQ(pins.pp, 2);
  EXPECT_EQ(pins.vpp, 3);
  EXPECT_EQ(pins.schedule, PipelineOrder::ZeroBubble);
  EXPECT_EQ(pins.dp, 4);
  EXPECT_EQ(pins.zero, 2);
  EXPECT_EQ(pins.zeroGroup, 2);
  EXPECT_EQ(pins.recompute, cost::Recompute::Selective);
  EXPECT_EQ(pins.overlap, false);
  EXPECT_EQ(pins.order, (RankOrder{tensorAxis, dataAxis, pipelineAxis}));
  EXPECT_EQ(pins.bucketMib, 100);
  EXPECT_EQ(pins.prefetch, 0);
  EXPECT_EQ(pins.microBatchSamples, 5);
  EXPECT_EQ(pins.microBatches, 6);
  EXPECT_EQ(pinned(pins).size(), pinFields().size());
  for (const PinField *field : pinned(pins))
    field->release(pins);
  EXPECT_TRUE(pinned(pins).empty());
}

TEST(PinsTest, refusesWithWhatIsAccepted) {
  EXPECT_EQ(errorOf("tp=0"), "tp is '0', expected a whole number from 1 to 1048576");
  EXPECT_EQ(errorOf("tp=8x"), "tp is '8x', expected a whole number from 1 to 1048576");
  EXPECT_EQ(errorOf("pp="), "pp is '', expected a whole number from 1 to 1048576");
  EXPECT_EQ(errorOf("zero=4"), "zero is '4', expected 0, 1, 2 or 3");
  EXPECT_EQ(errorOf("bucket-mib=-1"), "bucket-mib is '-1', expected a whole number from 0 (a layer each) to 1048576");
  EXPECT_EQ(errorOf("prefetch=1025"), "prefetch is '1025', expected a whole number from 0 to 1024");
  EXPECT_EQ(errorOf("sp=yes"), "sp is 'yes', expected on or off");
  EXPECT_EQ(errorOf("recompute=all"), "recompute is 'all', expected none, selective or full");
  EXPECT_EQ(errorOf("schedule=dualpipe"), "schedule is 'dualpipe', expected 1f1b, gpipe or zero-bubble");
  EXPECT_EQ(errorOf("rank-order=tp,pp"), "rank-order is 'tp,pp', expected dp, pp and tp, each once, such as dp,pp,tp");
  EXPECT_EQ(errorOf("tp=2,tp=4"), "tp is given twice in 'tp=2,tp=4'");
  EXPECT_TRUE(errorOf("cp=2").starts_with("there is no choice 'cp', expected one of tp, sp, pp, "));
  EXPECT_EQ(errorOf("fast"), "'fast' is no list of choices, expected one such as tp=16,pp=1,recompute=full");
  EXPECT_EQ(errorOf(""), "'' is no list of choices, expected one such as tp=16,pp=1,recompute=full");
}

TEST(PinsTest, everyOrderHasAName) {
  for (const NamedRankOrder &named : rankOrders) {
    EXPECT_STREQ(nameOf(named.order), named.name);
    EXPECT_EQ(parsePins(std::string("rank-order=") + named.name).order, named.order);
  }
}

TEST(CandidateTest, saysItsFlags) {
  Candidate candidate;
  EXPECT_EQ(flagsOf(candidate), "--micro-batches=1 --micro-batch-samples=1 --overlap");
  candidate = {
      8, 4, 2, 16, true, 3, 8, false, PipelineOrder::OneF1B, cost::Recompute::Full, 2, 32, rankOrders[1].order};
  EXPECT_EQ(flagsOf(candidate, "bf16"),
            "--tp=8 --pp=4 --vpp=2 --dp=16 --sp --zero=3 --zero-group=8 --rank-order=pp,dp,tp --micro-batches=32 "
            "--micro-batch-samples=2 --dtype=bf16 --recompute=full");
  candidate.overlap = true;
  candidate.prefetch = 0;
  candidate.bucketMib = 100; // of no effect with ZeRO-3
  EXPECT_TRUE(flagsOf(candidate).ends_with("--recompute=full --overlap --prefetch=0")) << flagsOf(candidate);
  EXPECT_EQ(flagsOf(candidate).find("bucket"), std::string::npos);
  EXPECT_TRUE(shortText(candidate).ends_with("prefetch=0, 32 micro-batches of 2")) << shortText(candidate);
  candidate.zero = 2; // nothing is gathered
  EXPECT_EQ(flagsOf(candidate),
            "--tp=8 --pp=4 --vpp=2 --dp=16 --sp --zero=2 --bucket-mib=100 --zero-group=8 --rank-order=pp,dp,tp "
            "--micro-batches=32 --micro-batch-samples=2 --recompute=full --overlap");
  candidate.microBatches = 1;
  EXPECT_TRUE(shortText(candidate).ends_with("bucket-mib=100, 1 micro-batch of 2")) << shortText(candidate);
  CompileOptions options = compileOptionsOf(candidate, {});
  EXPECT_EQ(options.bucketMib, 100);
  EXPECT_EQ(options.prefetch, 0);
  EXPECT_EQ(options.rankOrder, "pp,dp,tp");
  EXPECT_EQ(options.schedule, "1f1b");
  EXPECT_EQ(options.recompute, "full");
}

} // namespace
