//===- SharedMemoryChannel.cpp - a message queue in common memory -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread sends and one receives (perhaps the same), so each count has one writer.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/SharedMemoryChannel.h"

#include <cstring>

using namespace tgpt::runtime;

SharedMemoryChannel::SharedMemoryChannel(SharedMemoryWorld &world, std::string name, int64_t fromRank, int64_t toRank,
                                         std::vector<void *> buffers, std::byte *senderBase, RemoteMemory *far)
    : world(world), name(std::move(name)), fromRank(fromRank), toRank(toRank), messages(std::move(buffers)),
      senderBase(senderBase), far(far), state(world.memory().make<State>()) {
  world.watch(state.event);
  world.add(sendingEnd);
  world.add(receivingEnd);
}

std::string SharedMemoryChannel::End::name() const {
  size_t buffers = channel.messages.size();
  if (!sends)
    return channel.name;
  return channel.name +
         (buffers == 0 ? " (a rendezvous)" : ", whose " + std::to_string(buffers) + " message buffers are full,");
}

std::vector<int64_t> SharedMemoryChannel::End::missing() const {
  uint64_t received = channel.state.received.load(std::memory_order_acquire);
  uint64_t inFlight = channel.state.sent.load(std::memory_order_acquire) - received;
  bool isReady = sends ? inFlight == 0 || inFlight < channel.messages.size() : inFlight > 0;
  return isReady ? std::vector<int64_t>() : std::vector<int64_t>{sends ? channel.toRank : channel.fromRank};
}

/// One more, for both ends to see.
void SharedMemoryChannel::advance(std::atomic<uint64_t> &count) {
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  state.event.signal();
  if (far)
    far->count(count, state.event);
}

void SharedMemoryChannel::send(const TensorView &message) {
  uint64_t number = state.sent.load(std::memory_order_relaxed);
  auto received = [&] { return state.received.load(std::memory_order_acquire); };
  if (messages.empty()) {
    state.offered = reinterpret_cast<intptr_t>(message.data) - reinterpret_cast<intptr_t>(senderBase);
    if (far)
      far->store(&state.offered, sizeof(state.offered));
    advance(state.sent);
    return world.wait(fromRank, state.event, sendingEnd, [&] { return received() > number; });
  }
  world.wait(fromRank, state.event, sendingEnd, [&] { return number - received() < messages.size(); });
  std::memcpy(messages[number % messages.size()], message.data, message.bytes());
  if (far)
    far->store(messages[number % messages.size()], message.bytes());
  advance(state.sent);
}

void SharedMemoryChannel::receive(const TensorView &message) {
  uint64_t number = state.received.load(std::memory_order_relaxed);
  world.wait(toRank, state.event, receivingEnd, [&] { return state.sent.load(std::memory_order_acquire) > number; });
  const void *from = messages.empty()
                         ? reinterpret_cast<const void *>(reinterpret_cast<intptr_t>(senderBase) + state.offered)
                         : messages[number % messages.size()];
  if (far && messages.empty())
    far->fetch(const_cast<void *>(from), message.bytes());
  std::memcpy(message.data, from, message.bytes());
  advance(state.received);
}
