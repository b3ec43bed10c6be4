//===- AllocationTest.cpp - a step allocates nothing ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts calls of the global operator new. It has a binary of its own, because
// it replaces them.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Job.h"
#include "test/unit/engine/TinyInputs.h"
#include "test/unit/plan/StartedPlan.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

using namespace tgpt::runtime;
using namespace tgpt::test;

static std::atomic<int64_t> allocations{0};

static void *counted(std::size_t bytes) {
  allocations.fetch_add(1);
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}

static void *countedAligned(std::size_t bytes, std::align_val_t alignment) {
  allocations.fetch_add(1);
  std::size_t grain = static_cast<std::size_t>(alignment);
  if (void *memory = std::aligned_alloc(grain, (bytes + grain - 1) / grain * grain))
    return memory;
  throw std::bad_alloc();
}

void *operator new(std::size_t bytes) {
  return counted(bytes);
}
void *operator new[](std::size_t bytes) {
  return counted(bytes);
}
// std::stable_sort asks this way; the default need not go through the one above.
void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept {
  allocations.fetch_add(1);
  return std::malloc(bytes ? bytes : 1);
}
void *operator new[](std::size_t bytes, const std::nothrow_t &) noexcept {
  allocations.fetch_add(1);
  return std::malloc(bytes ? bytes : 1);
}
void *operator new(std::size_t bytes, std::align_val_t alignment) {
  return countedAligned(bytes, alignment);
}
void *operator new[](std::size_t bytes, std::align_val_t alignment) {
  return countedAligned(bytes, alignment);
}
void operator delete(void *memory) noexcept {
  std::free(memory);
}
void operator delete[](void *memory) noexcept {
  std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void *memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

static int64_t allocationsOfLaterSteps(const JobOptions &options, const tgpt::plan::Plan &plan = tinyPipeline()) {
  Job job(plan, options);
  job.initializeVariables();
  TinyInputs inputs;
  job.runStep(inputs);
  int64_t before = allocations.load();
  for (int step = 0; step < 5; ++step)
    job.runStep(inputs);
  return allocations.load() - before;
}

TEST(Allocation, TheCounterCounts) {
  int64_t before = allocations.load();
  delete new int(1);
  EXPECT_EQ(allocations.load(), before + 1);
}

TEST(Allocation, LaterStepsAllocateNothing) {
  EXPECT_EQ(allocationsOfLaterSteps(referenceOptions()), 0);
  EXPECT_EQ(allocationsOfLaterSteps(JobOptions()), 0);
}

TEST(Allocation, StepsThatStartCollectivesAllocateNothing) {
  for (int threads : {0, 1}) {
    JobOptions options = referenceOptions();
    options.communicationThreads = threads;
    EXPECT_EQ(allocationsOfLaterSteps(options, withStartedCollectives(tinyPipeline())), 0) << threads;
    options.profile = true;
    options.tracedSteps = 2;
    EXPECT_EQ(allocationsOfLaterSteps(options, withStartedCollectives(tinyPipeline())), 0) << threads;
  }
}

TEST(Allocation, ProfiledStepsAllocateNothing) {
  JobOptions options = referenceOptions();
  options.profile = true;
  EXPECT_EQ(allocationsOfLaterSteps(options), 0);
}

TEST(Allocation, TracedStepsAllocateNothing) {
  JobOptions options = referenceOptions();
  options.tracedSteps = 3;
  EXPECT_EQ(allocationsOfLaterSteps(options), 0);
}
