//===- FileDescriptor.h - an open file that closes itself -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_FILES_FILEDESCRIPTOR_H
#define TGPT_RUNTIME_FILES_FILEDESCRIPTOR_H

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace tgpt::runtime {

/// Owns a POSIX file descriptor. Every failure is an Error that names the file.
class FileDescriptor {
public:
  /// Opens an existing regular file; says what is wrong when it is missing, a directory or unreadable.
  static FileDescriptor openToRead(const std::filesystem::path &path);
  /// Creates `path`, or empties it. Errors, later ones too, name it, or the file that it will become.
  static FileDescriptor create(const std::filesystem::path &path) { return create(path, path); }
  static FileDescriptor create(const std::filesystem::path &path, const std::filesystem::path &nameInErrors);

  FileDescriptor() = default;
  FileDescriptor(FileDescriptor &&other) noexcept;
  FileDescriptor &operator=(FileDescriptor &&other) noexcept;
  ~FileDescriptor();

  bool isOpen() const { return descriptor >= 0; }
  int get() const { return descriptor; }
  int64_t sizeInBytes() const;
  void readAt(int64_t offset, std::span<std::byte> bytes) const;
  void writeAt(int64_t offset, std::span<const std::byte> bytes);
  /// Returns when the bytes are on the disk.
  void sync();
  void close();

private:
  FileDescriptor(int descriptor, std::filesystem::path path);
  int descriptor = -1;
  std::filesystem::path path; ///< that errors name
};

/// Makes the entries of a directory (new names, renames) durable.
void syncDirectory(const std::filesystem::path &directory);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_FILES_FILEDESCRIPTOR_H
