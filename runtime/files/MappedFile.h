//===- MappedFile.h - a file seen as memory ---------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_FILES_MAPPEDFILE_H
#define TGPT_RUNTIME_FILES_MAPPEDFILE_H

#include <cstddef>
#include <filesystem>
#include <span>

namespace tgpt::runtime {

/// A read-only memory map of a whole file.
class MappedFile {
public:
  explicit MappedFile(const std::filesystem::path &path);
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return mapped; }

private:
  std::span<const std::byte> mapped;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_FILES_MAPPEDFILE_H
