//===- Frames.cpp - messages between the processes of a job -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/launch/Frames.h"

#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

using namespace tgpt::runtime;

static constexpr double sendSeconds = 10;

namespace {
struct FrameHeader {
  char magic[4];
  uint32_t kind;
  uint64_t bytes;
};
} // namespace
static constexpr char magic[4] = {'T', 'G', 'P', 'J'};

FieldWriter &FieldWriter::add(int64_t number) {
  written.append(reinterpret_cast<const char *>(&number), sizeof(number));
  return *this;
}

FieldWriter &FieldWriter::add(const std::string &bytes) {
  add(static_cast<int64_t>(bytes.size()));
  written += bytes;
  return *this;
}

int64_t FieldReader::number() {
  int64_t value = 0;
  good = good && bytes.size() - at >= sizeof(value);
  if (!good)
    return 0;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  at += sizeof(value);
  return value;
}

std::string FieldReader::text() {
  int64_t size = number();
  good = good && size >= 0 && static_cast<size_t>(size) <= bytes.size() - at;
  if (!good)
    return {};
  at += static_cast<size_t>(size);
  return bytes.substr(at - static_cast<size_t>(size), static_cast<size_t>(size));
}

bool FrameStream::send(FrameKind kind, const std::string &body) {
  FrameHeader header{{}, static_cast<uint32_t>(kind), body.size()};
  std::memcpy(header.magic, magic, sizeof(magic));
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof(header));
  bytes += body;
  std::lock_guard lock(sending);
  return isOpen() && sendAll(socket, bytes.data(), bytes.size(), inSeconds(sendSeconds));
}

bool FrameStream::receive() {
  char bytes[16384];
  while (!isGarbage) {
    ssize_t got = ::recv(socket.get(), bytes, sizeof(bytes), 0);
    if (got <= 0)
      return got < 0 && (errno == EAGAIN || errno == EINTR);
    inbox.append(bytes, static_cast<size_t>(got));
    lastHeard = std::chrono::steady_clock::now();
    size_t known = std::min(inbox.size(), sizeof(magic));
    FrameHeader header{};
    std::memcpy(&header, inbox.data(), std::min(inbox.size(), sizeof(header)));
    isGarbage = std::memcmp(inbox.data(), magic, known) != 0 || header.bytes > most;
  }
  return false;
}

std::optional<Frame> FrameStream::next() {
  FrameHeader header;
  if (inbox.size() < sizeof(header))
    return std::nullopt;
  std::memcpy(&header, inbox.data(), sizeof(header));
  isGarbage = isGarbage || std::memcmp(header.magic, magic, sizeof(magic)) != 0 || header.bytes > most;
  if (isGarbage || inbox.size() - sizeof(header) < header.bytes)
    return std::nullopt;
  Frame frame{static_cast<FrameKind>(header.kind), inbox.substr(sizeof(header), header.bytes)};
  inbox.erase(0, sizeof(header) + header.bytes);
  return frame;
}

std::optional<Frame> FrameStream::wait(Deadline deadline) {
  while (true) {
    if (std::optional<Frame> frame = next())
      return frame;
    pollfd entry{socket.get(), POLLIN, 0};
    int ready = ::poll(&entry, 1, pollMilliseconds(deadline));
    if (ready > 0 && !receive())
      return next(); // what came before the end
    if ((ready < 0 && errno != EINTR) || (ready <= 0 && std::chrono::steady_clock::now() >= deadline))
      return std::nullopt;
  }
}
