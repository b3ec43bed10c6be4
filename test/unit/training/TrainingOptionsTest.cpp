//===- test/unit/training/TrainingOptionsTest.cpp - options that make no sense are refused --------------------------*-
// C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/TrainingOptions.h"

#include "runtime/plan/Error.h"
#include "test/unit/files/TemporaryDirectory.h"

using namespace tgpt::runtime;

static TrainingOptions usual() {
  TrainingOptions options;
  options.plan = "compiled.bin";
  options.data = "corpus.bin";
  return options;
}

#define EXPECT_REFUSED(change, part)                                                                                   \
  {                                                                                                                    \
    TrainingOptions options = usual();                                                                                 \
    change;                                                                                                            \
    std::string message = messageOf<Error>([&] { options.validate(); });                                               \
    EXPECT_NE(message.find(part), std::string::npos) << message;                                                       \
  }

TEST(TrainingOptions, UsualOnesAreFine) {
  usual().validate();
  TrainingOptions onlyDump;
  onlyDump.steps = 0;
  onlyDump.validate();
}

TEST(TrainingOptions, RefusesNumbersOutOfRange) {
  EXPECT_REFUSED(options.steps = -1, "--steps is -1, expected 0 or more");
  EXPECT_REFUSED(options.threadsPerRank = 0, "--threads is 0, expected 1 or more");
  EXPECT_REFUSED(options.logEvery = 0, "--log-every is 0");
  EXPECT_REFUSED(options.watchdogSeconds = 0, "--watchdog-seconds");
}

TEST(TrainingOptions, RefusesContradictions) {
  EXPECT_REFUSED(options.data.clear(), "no data given");
  EXPECT_REFUSED(options.syntheticSeed = 1, "--data and --synthetic exclude each other");
  EXPECT_REFUSED(options.saveEvery = 5, "--save-every=5 needs --save=DIR");
  EXPECT_REFUSED((options.resume = "a", options.initFrom = "b"), "--resume and --init-from exclude each other");
  EXPECT_REFUSED((options.steps = 0, options.dumpGradients = "g"), "--dump-gradients needs --steps");
}

TEST(TrainingOptions, RefusesOutputsThatCannotBeWritten) {
  TemporaryDirectory directory;
  EXPECT_REFUSED(options.metrics = directory / "none/m.jsonl", "there is no folder");
  EXPECT_REFUSED(options.dumpVariables = directory.getPath(), "is a directory");
}
