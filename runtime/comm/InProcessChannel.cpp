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

std::string InProcessChannel::End::name() const {
  size_t buffers = channel.messages.size();
  if (!sends)
    return channel.name;
  return channel.name +
         (buffers == 0 ? " (a rendezvous)" : ", whose " + std::to_string(buffers) + " message buffers are full,");
}

std::vector<int64_t> InProcessChannel::End::missing() const {
  uint64_t received = channel.received.load(std::memory_order_acquire);
  uint64_t inFlight = channel.sent.load(std::memory_order_acquire) - received;
  bool isReady = sends ? inFlight == 0 || inFlight < channel.messages.size() : inFlight > 0;
  return isReady ? std::vector<int64_t>() : std::vector<int64_t>{sends ? channel.toRank : channel.fromRank};
}

void InProcessChannel::send(const TensorView &message) {
  uint64_t number = sent.load(std::memory_order_relaxed);
  if (messages.empty()) {
    offered = message.data;
    sent.store(number + 1, std::memory_order_release);
    event.signal();
    return world.wait(fromRank, event, sendingEnd, [&] { return received.load(std::memory_order_acquire) > number; });
  }
  world.wait(fromRank, event, sendingEnd,
             [&] { return number - received.load(std::memory_order_acquire) < messages.size(); });
  std::memcpy(messages[number % messages.size()], message.data, message.bytes());
  sent.store(number + 1, std::memory_order_release);
  event.signal();
}

void InProcessChannel::receive(const TensorView &message) {
  uint64_t number = received.load(std::memory_order_relaxed);
  world.wait(toRank, event, receivingEnd, [&] { return sent.load(std::memory_order_acquire) > number; });
  std::memcpy(message.data, messages.empty() ? offered : messages[number % messages.size()], message.bytes());
  received.store(number + 1, std::memory_order_release);
  event.signal();
}
