//===- EmulatedSegment.h - what ranks of an emulated communicator share -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A piece of memory without a name, which ranks find by the unique id: threads of one
// process or processes of one machine. All bytes 0 is its start. Data passes through
// bounded staging areas, never through a peer's own memory.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_NCCL_EMULATION_EMULATEDSEGMENT_H
#define TGPT_RUNTIME_COMM_NCCL_EMULATION_EMULATEDSEGMENT_H

#include "runtime/comm/EventWord.h"
#include "runtime/comm/nccl/NcclApi.h"

#include <atomic>
#include <string>

namespace tgpt::runtime {

enum class EmulatedKind : int32_t { None, AllReduce, ReduceScatter, AllGather, Broadcast, Send, Receive };

/// What a rank does; all members of a collective must do the same.
struct EmulatedCall {
  EmulatedKind kind = EmulatedKind::None;
  NcclType type = NcclType::Float32;
  NcclOperation operation = NcclOperation::Sum;
  int32_t peer = 0; // root, or the other end
  uint64_t count = 0;
  bool isCaptured = false; // out of a graph, as all members' must be or none's

  bool operator==(const EmulatedCall &) const = default;
  /// "all_reduce max of 4 f32".
  std::string describe() const;
};

class EmulatedSegment {
public:
  static constexpr size_t stagingBytes = 32768; // of a rank, multiple of 16
  static constexpr size_t messageBytes = 8192;  // of a message, likewise

  struct Header {
    EventWord changed;
    std::atomic<uint32_t> ranks;   // as the first said
    std::atomic<uint32_t> present; // ranks that have come
  };
  struct alignas(64) Slot {
    std::atomic<uint32_t> isTaken;
    std::atomic<uint64_t> arrivals;     // at meetings of work on streams
    std::atomic<uint64_t> hostArrivals; // at those of splits
    EmulatedCall call;
    int32_t color, key;
    NcclUniqueId splitId;
    std::byte staging[stagingBytes];
  };
  /// From one rank to another; messages are counted from 1.
  struct alignas(64) Mailbox {
    std::atomic<uint64_t> offered, accepted; // the last message that its sender, its receiver, has come to
    std::atomic<uint64_t> filled, drained;   // pieces of all messages
    EmulatedCall sends, receives;
    std::byte staging[messageBytes];
  };

  /// Makes one and says how to find it, for as long as the file descriptor is open. Throws Error.
  static NcclUniqueId make(int &descriptor);
  /// Maps the one of an id. Throws Error where there is none.
  EmulatedSegment(const NcclUniqueId &id, int64_t ranks);
  ~EmulatedSegment();
  EmulatedSegment(const EmulatedSegment &) = delete;
  EmulatedSegment &operator=(const EmulatedSegment &) = delete;

  Header &header() const { return *reinterpret_cast<Header *>(memory); }
  Slot &slot(int64_t rank) const { return reinterpret_cast<Slot *>(memory + slotsAt())[rank]; }
  Mailbox &mailbox(int64_t from, int64_t to) const {
    return reinterpret_cast<Mailbox *>(memory + slotsAt() + ranks * sizeof(Slot))[from * ranks + to];
  }

private:
  static size_t slotsAt() { return (sizeof(Header) + 63) / 64 * 64; }
  size_t bytes() const { return slotsAt() + ranks * sizeof(Slot) + ranks * ranks * sizeof(Mailbox); }

  int64_t ranks;
  std::byte *memory = nullptr;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_NCCL_EMULATION_EMULATEDSEGMENT_H
