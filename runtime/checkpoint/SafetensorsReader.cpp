//===- runtime/checkpoint/SafetensorsReader.cpp - tensors of a file, one at a time ------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/SafetensorsReader.h"

#include "runtime/plan/Error.h"

#include <algorithm>
#include <array>

using namespace tgpt::runtime;

/// The reference reader's limit: what is larger is no header.
static constexpr uint64_t maxHeaderBytes = 100'000'000;

static uint64_t readHeaderBytes(const FileDescriptor &file, uint64_t fileBytes) {
  if (fileBytes < 8)
    throw Error("it has " + std::to_string(fileBytes) + " bytes, too few for a safetensors file");
  std::array<std::byte, 8> bytes;
  file.readAt(0, bytes);
  uint64_t count = 0;
  for (int i = 0; i < 8; ++i)
    count |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  if (count > fileBytes - 8 || count > maxHeaderBytes)
    throw Error("its header claims " + std::to_string(count) + " bytes, the file has " + std::to_string(fileBytes - 8) +
                " after the length (truncated, or no safetensors file)");
  return count;
}

SafetensorsReader::SafetensorsReader(std::filesystem::path where)
    : path(std::move(where)), file(FileDescriptor::openToRead(path)) {
  try {
    uint64_t fileBytes = file.sizeInBytes();
    std::string json(readHeaderBytes(file, fileBytes), '\0');
    file.readAt(8, std::as_writable_bytes(std::span(json)));
    dataOffset = 8 + json.size();
    header = decodeHeader(json, fileBytes - dataOffset);
  } catch (const Error &error) {
    throw Error("cannot read '" + path.string() + "': " + error.what());
  }
}

LogicalTensor SafetensorsReader::read(const StoredTensor &tensor) const {
  LogicalTensor value{.dtype = tensor.dtype, .shape = tensor.shape, .bytes = {}};
  value.bytes.resize(tensor.bytes);
  file.readAt(dataOffset + tensor.offsetBytes, value.bytes);
  return value;
}
