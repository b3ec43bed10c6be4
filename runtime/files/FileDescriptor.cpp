//===- FileDescriptor.cpp - an open file that closes itself -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/files/FileDescriptor.h"

#include "runtime/plan/Error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace tgpt::runtime;

[[noreturn]] static void fail(const char *action, const std::filesystem::path &path) {
  throw Error("cannot " + std::string(action) + " '" + path.string() + "': " + std::strerror(errno));
}

FileDescriptor FileDescriptor::openToRead(const std::filesystem::path &path) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    fail("open", path);
  FileDescriptor file(descriptor, path);
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    fail("read", path);
  if (!S_ISREG(status.st_mode))
    throw Error("cannot read '" + path.string() + "': it is " +
                (S_ISDIR(status.st_mode) ? "a directory" : "not a regular file"));
  return file;
}

FileDescriptor FileDescriptor::create(const std::filesystem::path &path, const std::filesystem::path &nameInErrors) {
  int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    fail("create", nameInErrors);
  return FileDescriptor(descriptor, nameInErrors);
}

FileDescriptor::FileDescriptor(int descriptor, std::filesystem::path path)
    : descriptor(descriptor), path(std::move(path)) {}

FileDescriptor::FileDescriptor(FileDescriptor &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), path(std::move(other.path)) {}

FileDescriptor &FileDescriptor::operator=(FileDescriptor &&other) noexcept {
  std::swap(descriptor, other.descriptor);
  std::swap(path, other.path);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (isOpen())
    ::close(descriptor);
}

int64_t FileDescriptor::sizeInBytes() const {
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    fail("read", path);
  return status.st_size;
}

void FileDescriptor::readAt(int64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    ssize_t got = ::pread(descriptor, bytes.data(), bytes.size(), offset);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      fail("read", path);
    if (got == 0)
      throw Error("cannot read '" + path.string() + "': it ends at byte " + std::to_string(offset) + ", " +
                  std::to_string(bytes.size()) + " bytes early");
    offset += got;
    bytes = bytes.subspan(got);
  }
}

void FileDescriptor::writeAt(int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t put = ::pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      fail("write", path);
    offset += put;
    bytes = bytes.subspan(put);
  }
}

void FileDescriptor::sync() {
  if (::fsync(descriptor) != 0)
    fail("write", path);
}

void FileDescriptor::close() {
  if (isOpen() && ::close(std::exchange(descriptor, -1)) != 0)
    fail("write", path);
}

void tgpt::runtime::syncDirectory(const std::filesystem::path &directory) {
  const std::filesystem::path &named = directory.empty() ? "." : directory;
  int descriptor = ::open(named.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    fail("open", named);
  // Some file systems cannot sync a directory (EINVAL); the rename is then as durable as they make it.
  ::fsync(descriptor);
  ::close(descriptor);
}
