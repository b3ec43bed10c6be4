//===- Socket.h - stream sockets between processes --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Owned file descriptors of sockets, and the few calls that ranks need: listen, connect,
// send and receive with a deadline, and a descriptor handed to another process of the
// same machine.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_SOCKET_H
#define TGPT_RUNTIME_COMM_SOCKET_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace tgpt::runtime {

using Deadline = std::chrono::steady_clock::time_point;
Deadline inSeconds(double seconds);
/// For poll(): milliseconds until then, 0 when it is over, at most a minute.
int pollMilliseconds(Deadline deadline);

class Socket {
public:
  explicit Socket(int descriptor = -1) : descriptor(descriptor) {}
  ~Socket() { close(); }
  Socket(Socket &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }

  int get() const { return descriptor; }
  explicit operator bool() const { return descriptor >= 0; }
  void close();

private:
  int descriptor;
};

/// Listens on every address of this machine; port 0: any free one. Throws Error, as all below.
Socket listenOnPort(uint16_t port);
uint16_t portOf(const Socket &listener);
/// Tries until the deadline while nobody listens there yet.
Socket connectTo(const std::string &host, uint16_t port, Deadline deadline);

/// Names without a file, of this machine: nothing is left behind.
Socket listenOnName(const std::string &name);
Socket connectToName(const std::string &name, Deadline deadline);

/// An empty socket when nobody came until the deadline.
Socket acceptOne(const Socket &listener, Deadline deadline);

/// False when the other end is gone or the deadline is over.
bool sendAll(const Socket &to, const void *bytes, size_t count, Deadline deadline);
bool receiveAll(const Socket &from, void *bytes, size_t count, Deadline deadline);

/// Hands a descriptor over a socket of listenOnName; the receiver gets -1 where it fails.
bool sendDescriptor(const Socket &to, int descriptor);
int receiveDescriptor(const Socket &from, Deadline deadline);
/// Whether the other end of such a socket belongs to this user.
bool isOfThisUser(const Socket &connection);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_SOCKET_H
