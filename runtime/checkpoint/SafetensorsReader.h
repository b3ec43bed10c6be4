//===- runtime/checkpoint/SafetensorsReader.h - tensors of a file, one at a time ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_CHECKPOINT_SAFETENSORSREADER_H
#define TGPT_RUNTIME_CHECKPOINT_SAFETENSORSREADER_H

#include "runtime/checkpoint/SafetensorsHeader.h"
#include "runtime/engine/LogicalTensor.h"
#include "runtime/files/FileDescriptor.h"

namespace tgpt::runtime {

class SafetensorsReader {
public:
  /// Reads and checks the header; throws Error naming the file and what is wrong.
  explicit SafetensorsReader(std::filesystem::path path);

  const std::filesystem::path &getPath() const { return path; }
  const SafetensorsHeader &getHeader() const { return header; }
  const StoredTensor *find(std::string_view name) const { return header.find(name); }
  LogicalTensor read(const StoredTensor &tensor) const;

private:
  std::filesystem::path path;
  FileDescriptor file;
  int64_t dataOffset = 0;
  SafetensorsHeader header;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_CHECKPOINT_SAFETENSORSREADER_H
