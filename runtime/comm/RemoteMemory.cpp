//===- RemoteMemory.cpp - the same memory on several machines ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/RemoteMemory.h"
#include "runtime/plan/Error.h"

#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

using namespace tgpt::runtime;

static constexpr double foreverSeconds = 1e7;
static constexpr double connectSeconds = 60;
static constexpr int pollMillisecondsAtMost = 100;
/// Until whoever watches the other machine says that it is gone.
static constexpr double goneSeconds = 5;

namespace {
enum Operation : uint32_t { Store = 1, Fetch, Count };

struct Request {
  uint32_t operation = 0, unused = 0;
  uint64_t offset = 0, bytes = 0, event = 0;
};
} // namespace

MemoryServer::MemoryServer(std::span<std::byte> memory, Socket listener, std::string key)
    : memory(memory), listener(std::move(listener)), key(std::move(key)) {
  thread = std::thread([this] { receive(); });
}

MemoryServer::~MemoryServer() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
    ::shutdown(listener.get(), SHUT_RDWR);
    for (Visitor &visitor : visitors)
      ::shutdown(visitor.socket.get(), SHUT_RDWR);
  }
  thread.join();
  for (Visitor &visitor : visitors)
    visitor.thread.join();
}

void MemoryServer::receive() {
  while (true) {
    Socket socket;
    try {
      socket = acceptOne(listener, inSeconds(foreverSeconds));
    } catch (const Error &) {
      return; // shut down
    }
    std::lock_guard lock(mutex);
    if (stopping)
      return;
    Visitor &visitor = visitors.emplace_back();
    visitor.socket = std::move(socket);
    visitor.thread = std::thread([this, &visitor] { serve(visitor.socket); });
  }
}

void MemoryServer::serve(const Socket &visitor) const {
  Deadline never = inSeconds(foreverSeconds);
  std::string shown(key.size(), '\0');
  if (!receiveAll(visitor, shown.data(), shown.size(), inSeconds(connectSeconds)) || shown != key)
    return (void)::shutdown(visitor.get(), SHUT_RDWR);
  Request request;
  while (receiveAll(visitor, &request, sizeof(request), never)) {
    if (request.offset > memory.size() || request.bytes > memory.size() - request.offset)
      break;
    std::byte *at = memory.data() + request.offset;
    if (request.operation == Store) {
      if (!receiveAll(visitor, at, request.bytes, never))
        break;
    } else if (request.operation == Fetch) {
      if (!sendAll(visitor, at, request.bytes, never))
        break;
    } else {
      uint64_t value = 0;
      bool fits = request.bytes == sizeof(value) && request.offset % sizeof(value) == 0 &&
                  request.event % alignof(EventWord) == 0 && request.event <= memory.size() - sizeof(EventWord);
      if (!fits || !receiveAll(visitor, &value, sizeof(value), never))
        break;
      reinterpret_cast<std::atomic<uint64_t> *>(at)->store(value, std::memory_order_release);
      reinterpret_cast<EventWord *>(memory.data() + request.event)->signal();
    }
  }
  ::shutdown(visitor.get(), SHUT_RDWR);
}

RemoteMemory::RemoteMemory(std::span<std::byte> local, const std::string &host, uint16_t port, const std::string &key,
                           std::function<bool()> given)
    : local(local), isOver(std::move(given)), name(host + ":" + std::to_string(port)),
      socket(connectTo(host, port, inSeconds(connectSeconds))) {
  send(key.data(), key.size());
}

uint64_t RemoteMemory::offsetOf(const void *at) const {
  return static_cast<uint64_t>(static_cast<const std::byte *>(at) - local.data());
}

/// The connection is of no use any more. Why, the world will know soon.
void RemoteMemory::fail() const {
  Deadline deadline = inSeconds(goneSeconds);
  while (std::chrono::steady_clock::now() < deadline) {
    if (isOver())
      throw JobAborted();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  throw Error("the connection to " + name + " is lost");
}

void RemoteMemory::send(const void *bytes, size_t count) {
  const char *at = static_cast<const char *>(bytes);
  while (count > 0) {
    ssize_t sent = ::send(socket.get(), at, count, MSG_NOSIGNAL);
    if (sent > 0) {
      at += sent;
      count -= static_cast<size_t>(sent);
      continue;
    }
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
      fail();
    if (isOver())
      throw JobAborted();
    pollfd entry{socket.get(), POLLOUT, 0};
    ::poll(&entry, 1, pollMillisecondsAtMost);
  }
}

void RemoteMemory::request(uint32_t operation, const void *at, size_t bytes, uint64_t event) {
  Request request{operation, 0, offsetOf(at), bytes, event};
  send(&request, sizeof(request));
}

void RemoteMemory::store(const void *at, size_t bytes) {
  if (bytes == 0)
    return;
  request(Store, at, bytes, 0);
  send(at, bytes);
}

void RemoteMemory::fetch(void *at, size_t bytes) {
  if (bytes == 0)
    return;
  request(Fetch, at, bytes, 0);
  char *to = static_cast<char *>(at);
  while (bytes > 0) {
    ssize_t got = ::recv(socket.get(), to, bytes, 0);
    if (got > 0) {
      to += got;
      bytes -= static_cast<size_t>(got);
      continue;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
      fail();
    if (isOver())
      throw JobAborted();
    pollfd entry{socket.get(), POLLIN, 0};
    ::poll(&entry, 1, pollMillisecondsAtMost);
  }
}

void RemoteMemory::count(const std::atomic<uint64_t> &count, const EventWord &event) {
  uint64_t value = count.load(std::memory_order_relaxed);
  request(Count, &count, sizeof(value), offsetOf(&event));
  send(&value, sizeof(value));
}
