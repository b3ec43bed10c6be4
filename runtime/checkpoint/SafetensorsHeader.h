//===- runtime/checkpoint/SafetensorsHeader.h - what a safetensors file holds, and where ------------------------*- C++
//-*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A safetensors file (https://github.com/huggingface/safetensors):
//
//   8 bytes       N, little-endian
//   N bytes       JSON: {"name": {"dtype": "F32", "shape": [2, 3],
//                 "data_offsets": [begin, end]}, ..., "__metadata__": {"k": "v"}}
//   the rest      tensor bytes; offsets count from here, without holes or overlap
//
// Ours are laid out by falling element size, then name, and N is a multiple of 8,
// so that every tensor is aligned to its element size.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_CHECKPOINT_SAFETENSORSHEADER_H
#define TGPT_RUNTIME_CHECKPOINT_SAFETENSORSHEADER_H

#include "runtime/kernels/api/Kernel.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tgpt::runtime {

struct StoredTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape = {};
  int64_t offsetBytes = 0; // from the end of the header
  int64_t bytes = 0;
};

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors; // sorted by name
  std::map<std::string, std::string> metadata;

  /// The tensor of that name, or null.
  const StoredTensor *find(std::string_view name) const;
};

/// Sorts the tensors by name and sets their bytes and offsets. Throws Error for a name that occurs twice or is
/// "__metadata__".
void layOut(SafetensorsHeader &header);

/// The first 8 + N bytes of the file.
std::string encodeHeader(const SafetensorsHeader &header);

/// Reads N bytes of JSON and checks every fact against the `dataBytes` that follow. Throws Error, the message ready to
/// follow "'file': ".
SafetensorsHeader decodeHeader(std::string_view json, int64_t dataBytes);

/// "[2, 3]".
std::string describeShape(const std::vector<int64_t> &shape);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_CHECKPOINT_SAFETENSORSHEADER_H
