//===- AccessOrder.cpp - accesses that nothing orders -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/device/AccessOrder.h"
#include "runtime/plan/Error.h"

#include <algorithm>

using namespace tgpt::runtime;

static void joinInto(AccessOrder::Clock &into, const AccessOrder::Clock &clock) {
  if (into.size() < clock.size())
    into.resize(clock.size());
  for (size_t i = 0; i < clock.size(); ++i)
    into[i] = std::max(into[i], clock[i]);
}

int AccessOrder::addStream(std::string label) {
  labels.push_back(std::move(label));
  clocks.emplace_back();
  return static_cast<int>(labels.size()) - 1;
}

void AccessOrder::add(int stream, std::string_view what, std::span<const DeviceAccess> list) {
  Clock &clock = clocks[stream];
  joinInto(clock, host);
  clock.resize(std::max(clock.size(), labels.size()));
  uint64_t tick = ++clock[stream];
  for (const DeviceAccess &access : list) {
    auto begin = reinterpret_cast<uintptr_t>(access.begin), end = begin + access.bytes;
    if (begin == end)
      continue;
    auto other = std::find_if(accesses.rbegin(), accesses.rend(), [&](const Access &earlier) {
      return earlier.tick > at(clock, earlier.stream) && meet(earlier, begin, end, access.writes);
    });
    if (other != accesses.rend())
      throw Error("'" + std::string(what) + "' in stream '" + labels[stream] + "' " +
                  (access.writes ? "writes" : "reads") + " bytes that '" + other->what + "' in stream '" +
                  labels[other->stream] + "' " + (other->writes ? "writes" : "reads") + ", and no event orders them");
    // What must come after an access that this one comes after, and covers, must come after this one too.
    std::erase_if(accesses, [&](const Access &other) {
      bool isBefore = other.tick <= at(clock, other.stream) && !(other.stream == stream && other.tick == tick);
      return isBefore && begin <= other.begin && other.end <= end && (access.writes || !other.writes);
    });
    accesses.push_back({begin, end, stream, tick, access.writes, std::string(what)});
  }
}

void AccessOrder::join(int stream, const Clock &clock) {
  joinInto(clocks[stream], clock);
}

void AccessOrder::joinHost(const Clock &clock) {
  joinInto(host, clock);
  std::erase_if(accesses, [&](const Access &access) { return access.tick <= at(host, access.stream); });
}

void AccessOrder::touch(const DeviceAccess &access) const {
  auto begin = reinterpret_cast<uintptr_t>(access.begin), end = begin + access.bytes;
  for (const Access &other : accesses) // what is ordered before the host is not there any more
    if (meet(other, begin, end, access.writes))
      throw Error(std::string("the host ") + (access.writes ? "writes" : "reads") + " bytes that '" + other.what +
                  "' in stream '" + labels[other.stream] + "' " + (other.writes ? "writes" : "reads") +
                  ", and has not waited for it");
}

void AccessOrder::forget(const void *memory, size_t bytes) {
  auto begin = reinterpret_cast<uintptr_t>(memory), end = begin + bytes;
  std::erase_if(accesses, [&](const Access &access) { return access.begin < end && begin < access.end; });
}
