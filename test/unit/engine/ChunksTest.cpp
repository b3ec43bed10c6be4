//===- ChunksTest.cpp - a rank runs two chunks ------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The hand-written plan with two chunks, messages of a rank to itself and
// weight_gradients, against a line of arithmetic; all values are exact in f64.
//
//===----------------------------------------------------------------------===//
#include "test/unit/engine/TinyInputs.h"
#include "test/unit/plan/ChunkedPlan.h"

#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

static void expectNumbersOfTheModel(const plan::Plan &plan) {
  Job job(plan, referenceOptions());
  job.initializeVariables();
  TinyInputs inputs;
  std::vector<double> gradient;
  double loss = 0;
  for (int64_t i = 0; i < 4; ++i) {
    gradient.push_back(chunkedGradient(i));
    loss += gradient[i] * gradient[i];
  }
  for (int step = 0; step < 2; ++step) {
    EXPECT_EQ(job.runStep(inputs).loss, loss);
    EXPECT_EQ(numbersOf(job.readVariable("w.grad")), gradient);
  }
}

TEST(Chunks, GiveTheNumbersOfTheModel) {
  expectNumbersOfTheModel(chunkedPlan());
}

// Micro-batch 2 of chunk 1 has the page that micro-batch 0 of chunk 0 had.
TEST(Chunks, GiveThemWithPagesToo) {
  expectNumbersOfTheModel(pagedPlan());
}

TEST(Chunks, GiveThemWithPlacesToo) {
  expectNumbersOfTheModel(placedPlan());
}

// Every slot of every chunk is used, and nothing beyond them.
TEST(Chunks, UseThePlannedBytes) {
  for (const plan::Plan &plan : {chunkedPlan(), pagedPlan()}) {
    Job job(plan, referenceOptions());
    job.initializeVariables();
    TinyInputs inputs;
    job.runStep(inputs);
    EXPECT_EQ(job.highWaterBytes(0), job.plannedBytes(0));
  }
}
