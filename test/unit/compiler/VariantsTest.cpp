//===- VariantsTest.cpp - the choices next to a configuration ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Variants.h"

#include <gtest/gtest.h>

using namespace tgpt;

static std::vector<std::string> changesOf(const CompileOptions &options) {
  std::vector<std::string> changes;
  for (const Variant &variant : variantsOf(options))
    changes.push_back(variant.change);
  return changes;
}

TEST(Variants, OneRankMayOnlyRecompute) {
  EXPECT_EQ(changesOf({}), (std::vector<std::string>{"--recompute=selective", "--recompute=full"}));
}

TEST(Variants, EveryChoiceOfAGrid) {
  CompileOptions options;
  options.dp = options.tp = options.microBatches = options.microBatchSamples = 4;
  options.zero = 3;
  options.recompute = "full";
  EXPECT_EQ(changesOf(options),
            (std::vector<std::string>{"--recompute=none", "--recompute=selective", "--zero=0", "--zero=1", "--zero=2",
                                      "--sp", "--micro-batch-samples=2 --micro-batches=8",
                                      "--micro-batch-samples=8 --micro-batches=2"}));
  for (const Variant &variant : variantsOf(options))
    EXPECT_EQ(variant.options.microBatches * variant.options.microBatchSamples, 16) << variant.change;
}
