//===- runtime/checkpoint/SafetensorsWriter.h - tensors to a file, one at a time ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_CHECKPOINT_SAFETENSORSWRITER_H
#define TGPT_RUNTIME_CHECKPOINT_SAFETENSORSWRITER_H

#include "runtime/checkpoint/SafetensorsHeader.h"
#include "runtime/engine/LogicalTensor.h"
#include "runtime/files/AtomicFile.h"

#include <set>

namespace tgpt::runtime {

/// Names, dtypes and shapes are given first, the values follow in any order; commit() makes the file appear. Holds no
/// tensor in memory.
class SafetensorsWriter {
public:
  /// Offsets of `tensors` are ignored.
  SafetensorsWriter(std::filesystem::path path, std::vector<StoredTensor> tensors,
                    std::map<std::string, std::string> metadata = {});

  void write(std::string_view name, const LogicalTensor &value);
  /// Throws Error when a tensor was not written.
  void commit();

private:
  SafetensorsHeader header;
  int64_t dataOffset = 0;
  std::set<std::string, std::less<>> missing;
  AtomicFile file;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_CHECKPOINT_SAFETENSORSWRITER_H
