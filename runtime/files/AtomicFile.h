//===- AtomicFile.h - a file that appears whole or not at all ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_FILES_ATOMICFILE_H
#define TGPT_RUNTIME_FILES_ATOMICFILE_H

#include "runtime/files/FileDescriptor.h"

#include <string_view>

namespace tgpt::runtime {

/// Writes beside `path` under a temporary name; commit() syncs and renames.
/// Destroyed without commit(), it leaves no trace and an older file untouched.
class AtomicFile {
public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(AtomicFile &&) = delete;
  ~AtomicFile();

  void append(std::span<const std::byte> bytes);
  void writeAt(int64_t offset, std::span<const std::byte> bytes) { file.writeAt(offset, bytes); }
  void commit();
  const std::filesystem::path &getPath() const { return path; }

private:
  std::filesystem::path path;
  std::filesystem::path temporary;
  FileDescriptor file;
  int64_t end = 0;
  bool committed = false;
};

/// Replaces `path` by `text` in one step.
void writeTextAtomically(const std::filesystem::path &path, std::string_view text);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_FILES_ATOMICFILE_H
