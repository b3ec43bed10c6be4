//===- SharedMemoryChannel.h - a message queue in common memory -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A ring of message buffers that the owner provides (in the receiver's arena).
// The sender copies a message in, the receiver copies it out; the sender waits
// while all buffers are taken, the receiver while none is. Without buffers they meet: the
// receiver copies from the sender's tensor, and only then the sender goes on. A rank may
// send to itself: then the check of the plan has proved that it never has to wait. Ends
// that are processes see the sender's arena at addresses of their own.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_SHAREDMEMORYCHANNEL_H
#define TGPT_RUNTIME_COMM_SHAREDMEMORYCHANNEL_H

#include "runtime/comm/RemoteMemory.h"
#include "runtime/comm/SharedMemoryWorld.h"

#include <string>
#include <vector>

namespace tgpt::runtime {

class SharedMemoryChannel final : public Sender, public Receiver {
public:
  /// `name` is for messages ("channel 0"); `messages` are the buffers, perhaps none. Where ranks are processes,
  /// `senderBase` is the sender's arena as this process sees it, and `far` the way of the end that is used in it to the
  /// other end, where that is on another machine.
  SharedMemoryChannel(SharedMemoryWorld &world, std::string name, int64_t fromRank, int64_t toRank,
                      std::vector<void *> messages, std::byte *senderBase = nullptr, RemoteMemory *far = nullptr);

  void send(const TensorView &message) override;
  void receive(const TensorView &message) override;

private:
  /// What one end waits for: the rank at the other.
  class End final : public WaitPlace {
  public:
    End(const SharedMemoryChannel &channel, bool sends) : channel(channel), sends(sends) {}
    std::string name() const override;
    std::vector<int64_t> missing() const override;

  private:
    const SharedMemoryChannel &channel;
    bool sends;
  };

  void advance(std::atomic<uint64_t> &count);

  SharedMemoryWorld &world;
  std::string name;
  int64_t fromRank;
  int64_t toRank;
  End sendingEnd{*this, true}, receivingEnd{*this, false};
  std::vector<void *> messages;
  std::byte *senderBase;
  RemoteMemory *far;
  struct State {
    EventWord event;
    alignas(64) std::atomic<uint64_t> sent;
    int64_t offered; ///< without buffers: where the message of a sender that waits is, from its base
    alignas(64) std::atomic<uint64_t> received;
  };
  State &state;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_SHAREDMEMORYCHANNEL_H
