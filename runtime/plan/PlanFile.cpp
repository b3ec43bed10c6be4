//===- PlanFile.cpp - compiled plans on disk --------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The container around the serialised plan; the format is in PlanFile.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/Error.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

constexpr std::string_view magic = "TGPTPLAN";
constexpr size_t headerBytes = 32;

template <typename T> void appendLittleEndian(std::string &to, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    to.push_back(static_cast<char>(value >> (8 * i)));
}

template <typename T> T littleEndianAt(std::string_view bytes, size_t offset) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(static_cast<uint8_t>(bytes[offset + i])) << (8 * i);
  return value;
}

/// A file descriptor that closes itself.
struct OpenFile {
  int fd;
  ~OpenFile() {
    if (fd >= 0)
      ::close(fd);
  }
};

[[noreturn]] void failWith(const std::string &what, const std::string &path) {
  throw Error(what + " '" + path + "': " + std::strerror(errno));
}

std::string readWholeFile(const std::string &path) {
  OpenFile file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0)
    failWith("cannot open plan file", path);
  struct stat status;
  if (::fstat(file.fd, &status) != 0)
    failWith("cannot read plan file", path);
  if (!S_ISREG(status.st_mode))
    throw Error("'" + path + "' is not a plan file: it is " +
                (S_ISDIR(status.st_mode) ? "a directory" : "not a regular file"));
  std::string bytes(status.st_size, '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = ::read(file.fd, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      failWith("cannot read plan file", path);
    if (got == 0)
      break;
    done += got;
  }
  bytes.resize(done);
  return bytes;
}

void writeAll(int fd, std::string_view bytes, const std::string &path) {
  while (!bytes.empty()) {
    ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      failWith("cannot write plan file", path);
    bytes.remove_prefix(put);
  }
}

/// Removes the temporary file unless it was renamed into place.
struct TemporaryFile {
  std::string path;
  bool kept = false;
  ~TemporaryFile() {
    if (!kept)
      ::unlink(path.c_str());
  }
};

} // namespace

uint64_t tgpt::runtime::fnv1a64(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char byte : bytes)
    hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  return hash;
}

std::string tgpt::runtime::encodePlan(const plan::Plan &plan) {
  // Protobuf refuses messages of 2 GiB and more.
  if (plan.ByteSizeLong() > INT_MAX)
    throw Error("the plan has " + std::to_string(plan.ByteSizeLong()) + " bytes, but a plan file holds at most " +
                std::to_string(INT_MAX));
  std::string payload;
  if (plan.format_version() == 0) {
    plan::Plan versioned = plan;
    versioned.set_format_version(planFormatVersion);
    versioned.SerializeToString(&payload);
  } else {
    plan.SerializeToString(&payload);
  }
  std::string bytes(magic);
  appendLittleEndian<uint32_t>(bytes, planFormatVersion);
  appendLittleEndian<uint32_t>(bytes, 0);
  appendLittleEndian<uint64_t>(bytes, payload.size());
  appendLittleEndian<uint64_t>(bytes, fnv1a64(payload));
  return bytes + payload;
}

plan::Plan tgpt::runtime::decodePlan(std::string_view bytes, const std::string &source) {
  std::string file = "plan file '" + source + "'";
  if (bytes.empty())
    throw Error(file + " is empty");
  if (bytes.substr(0, magic.size()) != magic.substr(0, bytes.size()))
    throw Error("'" + source + "' is not a plan file: it does not start with \"TGPTPLAN\" (tgpt-opt writes plans)");
  if (bytes.size() < headerBytes)
    throw Error(file + " is truncated: it has " + std::to_string(bytes.size()) + " bytes, the header alone has " +
                std::to_string(headerBytes));
  uint32_t version = littleEndianAt<uint32_t>(bytes, 8);
  if (version != planFormatVersion)
    throw Error(file + " has format version " + std::to_string(version) + ", but this build reads version " +
                std::to_string(planFormatVersion));
  if (littleEndianAt<uint32_t>(bytes, 12) != 0)
    throw Error(file + " is damaged: reserved header bytes are not zero");
  uint64_t expected = littleEndianAt<uint64_t>(bytes, 16);
  std::string_view payload = bytes.substr(headerBytes);
  if (payload.size() != expected)
    throw Error(file + (payload.size() < expected ? " is truncated: " : " has trailing bytes: ") + "its header names " +
                std::to_string(expected) + " payload bytes, but " + std::to_string(payload.size()) + " follow");
  if (fnv1a64(payload) != littleEndianAt<uint64_t>(bytes, 24))
    throw Error(file + " is damaged: the checksum of its " + std::to_string(expected) +
                " payload bytes does not match");
  // Protobuf would print its own complaint beside ours.
  google::protobuf::LogSilencer silencer;
  plan::Plan plan;
  if (payload.size() > INT_MAX || !plan.ParseFromArray(payload.data(), static_cast<int>(payload.size())))
    throw Error(file + " is damaged: its payload is not a serialised plan");
  return plan;
}

plan::Plan tgpt::runtime::loadPlan(const std::string &path) {
  return decodePlan(readWholeFile(path), path);
}

void tgpt::runtime::savePlan(const plan::Plan &plan, const std::string &path) {
  std::string bytes = encodePlan(plan);
  struct stat status;
  // A rename would put a file in the place of a device or pipe.
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    throw Error("cannot write plan file '" + path + "': it is " +
                (S_ISDIR(status.st_mode) ? "a directory" : "not a regular file"));
  std::string partial = path + ".partial." + std::to_string(::getpid());
  OpenFile file{::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
  if (file.fd < 0)
    failWith("cannot write plan file", path);
  TemporaryFile temporary{partial};
  writeAll(file.fd, bytes, path);
  if (::fsync(file.fd) != 0 || ::rename(partial.c_str(), path.c_str()) != 0)
    failWith("cannot write plan file", path);
  temporary.kept = true;
}
