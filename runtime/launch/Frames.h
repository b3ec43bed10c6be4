//===- Frames.h - messages between the processes of a job -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A connection carries frames: a kind, and fields that are numbers or bytes. What does not
// look like one closes the connection: anybody may connect to a port.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_LAUNCH_FRAMES_H
#define TGPT_RUNTIME_LAUNCH_FRAMES_H

#include "runtime/comm/Socket.h"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tgpt::runtime {

/// Hello, Welcome and Refusal are of the rendezvous. Part and All: of a gather. End: somebody was lost or has failed.
/// Leave: the sender is through, its connection will close. Sign: it is alive.
enum class FrameKind : uint32_t { Hello = 1, Welcome, Refusal, Part, All, End, Leave, Sign };

struct Frame {
  FrameKind kind = FrameKind::Sign;
  std::string body;
};

class FieldWriter {
public:
  FieldWriter &add(int64_t number);
  FieldWriter &add(const std::string &bytes);
  const std::string &bytes() const { return written; }

private:
  std::string written;
};

/// Reads what a FieldWriter wrote. After bytes that are not, isGood() is false and fields are 0 and empty.
class FieldReader {
public:
  explicit FieldReader(const std::string &bytes) : bytes(bytes) {}
  int64_t number();
  std::string text();
  bool isGood() const { return good; }

private:
  const std::string &bytes;
  size_t at = 0;
  bool good = true;
};

class FrameStream {
public:
  /// Frames of more bytes than `most` are garbage.
  explicit FrameStream(Socket socket, size_t most = size_t(1) << 30) : socket(std::move(socket)), most(most) {}

  int descriptor() const { return socket.get(); }
  bool isOpen() const { return static_cast<bool>(socket); }
  void close() {
    std::lock_guard lock(sending);
    socket.close();
  }
  void allow(size_t bytes) { most = bytes; }

  /// From any thread. False when the other end is gone, or does not read for ten seconds.
  bool send(FrameKind kind, const std::string &body);
  /// Takes what has arrived, without waiting. False when the other end is gone or sends garbage.
  bool receive();
  /// The next whole frame of what has arrived.
  std::optional<Frame> next();
  /// Waits for a frame; nothing when the other end is gone or the deadline over.
  std::optional<Frame> wait(Deadline deadline);
  /// When something last arrived.
  std::chrono::steady_clock::time_point lastHeard = std::chrono::steady_clock::now();

private:
  Socket socket;
  size_t most;
  std::string inbox;
  bool isGarbage = false;
  std::mutex sending;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_LAUNCH_FRAMES_H
