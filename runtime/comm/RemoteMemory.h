//===- RemoteMemory.h - the same memory on several machines -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The processes of each machine share a piece of memory of one layout: a world's state and
// the arenas of all ranks. What a rank of another machine has is fetched to, and what it
// shall have is stored from, the same place here, over TCP. So collectives and channels
// work on local addresses, whatever machine a rank is on. Of arenas elsewhere only the
// pages that pass through are ever there.
//
// A count is stored after all that was stored before it over the same connection.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_REMOTEMEMORY_H
#define TGPT_RUNTIME_COMM_REMOTEMEMORY_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/EventWord.h"
#include "runtime/comm/Socket.h"

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace tgpt::runtime {

/// Serves the memory of this machine to processes of others that know the key.
class MemoryServer {
public:
  MemoryServer(std::span<std::byte> memory, Socket listener, std::string key);
  ~MemoryServer();

private:
  struct Visitor {
    Socket socket;
    std::thread thread;
  };
  void receive();
  void serve(const Socket &visitor) const;

  std::span<std::byte> memory;
  Socket listener;
  std::string key;
  std::mutex mutex;
  std::list<Visitor> visitors;
  bool stopping = false;
  std::thread thread; // last: it uses the rest
};

/// The memory of one other machine, for one thread.
class RemoteMemory {
public:
  /// `local` is this machine's. Waits end with JobAborted when `isOver` says so.
  RemoteMemory(std::span<std::byte> local, const std::string &host, uint16_t port, const std::string &key,
               std::function<bool()> isOver);

  void store(const void *at, size_t bytes);
  void fetch(void *at, size_t bytes);
  /// Stores the count and signals the event there.
  void count(const std::atomic<uint64_t> &count, const EventWord &event);

private:
  void request(uint32_t operation, const void *at, size_t bytes, uint64_t event);
  void send(const void *bytes, size_t count);
  uint64_t offsetOf(const void *at) const;
  [[noreturn]] void fail() const;

  std::span<std::byte> local;
  std::function<bool()> isOver;
  std::string name;
  Socket socket;
};

/// One thread's ways to all other machines.
struct RemoteLinks {
  std::vector<RemoteMemory *> byRank; // null: of this machine
  std::vector<std::unique_ptr<RemoteMemory>> machines;

  RemoteMemory *to(int64_t rank) const { return byRank[rank]; }
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_REMOTEMEMORY_H
