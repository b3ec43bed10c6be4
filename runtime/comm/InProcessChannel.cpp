//===- InProcessChannel.cpp - a message queue between two threads -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread sends and one receives (perhaps the same), so each count has one writer.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/InProcessChannel.h"

#include <cstring>

using namespace tgpt::runtime;

InProcessChannel::InProcessChannel(InProcessWorld &world, std::string name, int64_t fromRank, int64_t toRank,
                                   std::vector<void *> buffers)
    : world(world), name(std::move(name)), fromRank(fromRank), toRank(toRank), messages(std::move(buffers)) {
  world.watch(event);
}

void InProcessChannel::send(const TensorView &message) {
  uint64_t number = sent.load(std::memory_order_relaxed);
  world.wait(
      fromRank, event, [&] { return number - received.load(std::memory_order_acquire) < messages.size(); },
      [&] {
        return "rank " + std::to_string(fromRank) + " waits on " + name + ", whose " + std::to_string(messages.size()) +
               " message buffers are full, for " + world.describe(toRank);
      });
  std::memcpy(messages[number % messages.size()], message.data, message.bytes());
  sent.store(number + 1, std::memory_order_release);
  event.signal();
}

void InProcessChannel::receive(const TensorView &message) {
  uint64_t number = received.load(std::memory_order_relaxed);
  world.wait(
      toRank, event, [&] { return sent.load(std::memory_order_acquire) > number; },
      [&] {
        return "rank " + std::to_string(toRank) + " waits on " + name + " for a message from " +
               world.describe(fromRank);
      });
  std::memcpy(message.data, messages[number % messages.size()], message.bytes());
  received.store(number + 1, std::memory_order_release);
  event.signal();
}
