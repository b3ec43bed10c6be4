//===- FaultyKernels.cpp - kernels of which one call goes wrong -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel function has no state, so each wrapped function has a slot and a wrapper of
// its own, made from the slot's number.
//
//===----------------------------------------------------------------------===//
#include "test/unit/engine/FaultyKernels.h"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <pthread.h>
#include <stdexcept>
#include <thread>
#include <utility>

using namespace tgpt;
using namespace tgpt::runtime;
using tgpt::test::KernelFault;

using Clock = std::chrono::steady_clock;

static constexpr size_t mostKernels = 96;
static constexpr int64_t mostRanks = 64;

static std::mutex mutex;
static std::condition_variable released;
static uint64_t releases = 0;
static KernelFault fault;
static std::array<std::atomic<int64_t>, mostRanks> calls;
static std::atomic<Clock::rep> faultTime;
static std::array<KernelFunction, mostKernels> originals;

/// Of the calling thread; -1 where it is no rank's.
static int64_t rankOfThread() {
  thread_local int64_t rank = [] {
    char name[16] = "";
    long long number = -1;
    ::pthread_getname_np(::pthread_self(), name, sizeof(name));
    return std::sscanf(name, "rank %lld", &number) == 1 ? static_cast<int64_t>(number) : -1;
  }();
  return rank;
}

static KernelStatus faultPoint() {
  int64_t rank = rankOfThread();
  if (rank < 0 || rank >= mostRanks)
    return {};
  int64_t call = calls[rank].fetch_add(1);
  if (fault.kind == KernelFault::Kind::None || rank != fault.rank)
    return {};
  if (call == fault.call)
    faultTime = Clock::now().time_since_epoch().count();
  if (fault.kind == KernelFault::Kind::SleepsEveryCall)
    std::this_thread::sleep_for(std::chrono::duration<double>(fault.seconds));
  else if (call == fault.call && fault.kind == KernelFault::Kind::ReturnsError)
    return {"the sky is falling"};
  else if (call == fault.call && fault.kind == KernelFault::Kind::Throws)
    throw std::runtime_error("the sky has fallen");
  else if (call == fault.call && fault.kind == KernelFault::Kind::ThrowsInteger)
    throw 42;
  else if (call == fault.call) {
    std::unique_lock lock(mutex);
    released.wait(lock, [seen = releases] { return releases != seen; });
  }
  return {};
}

template <size_t slot> static KernelStatus wrapped(const KernelCall &call) {
  KernelStatus status = faultPoint();
  return status.ok() ? originals[slot](call) : status;
}

template <size_t... slots>
static constexpr std::array<KernelFunction, mostKernels> wrappers(std::index_sequence<slots...>) {
  return {wrapped<slots>...};
}

static KernelFunction wrapperOf(KernelFunction function) {
  static constexpr auto table = wrappers(std::make_index_sequence<mostKernels>());
  std::lock_guard lock(mutex);
  for (size_t slot = 0; slot < mostKernels; ++slot) {
    if (!originals[slot])
      originals[slot] = function;
    if (originals[slot] == function)
      return table[slot];
  }
  throw std::length_error("more kernels than wrappers");
}

KernelSet tgpt::test::faultyKernels(const KernelSet &base) {
  KernelSet set = base;
  set.name = "faulty";
  set.slowestFlopsPerSecond = 0;
  set.find = [find = base.find](std::string_view opcode, const KernelCall &call) {
    ResolvedKernel kernel = find(opcode, call);
    if (kernel.function)
      kernel.function = wrapperOf(kernel.function);
    return kernel;
  };
  return set;
}

void tgpt::test::setFault(const KernelFault &given) {
  fault = given;
  for (std::atomic<int64_t> &count : calls)
    count = 0;
}

int64_t tgpt::test::callsOf(int64_t rank) {
  return calls[rank];
}

double tgpt::test::secondsSinceFault() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch() - Clock::duration(faultTime.load())).count();
}

void tgpt::test::releaseBlocked() {
  std::lock_guard lock(mutex);
  ++releases;
  released.notify_all();
}
