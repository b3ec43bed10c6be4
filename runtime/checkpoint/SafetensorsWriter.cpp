//===- runtime/checkpoint/SafetensorsWriter.cpp - tensors to a file, one at a time ------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/SafetensorsWriter.h"

#include "runtime/plan/Error.h"

using namespace tgpt::runtime;

SafetensorsWriter::SafetensorsWriter(std::filesystem::path path, std::vector<StoredTensor> tensors,
                                     std::map<std::string, std::string> metadata)
    : header{std::move(tensors), std::move(metadata)}, file(std::move(path)) {
  layOut(header);
  for (const StoredTensor &tensor : header.tensors)
    missing.insert(tensor.name);
  std::string bytes = encodeHeader(header);
  file.append(std::as_bytes(std::span(bytes)));
  dataOffset = bytes.size();
}

void SafetensorsWriter::write(std::string_view name, const LogicalTensor &value) {
  const StoredTensor *tensor = header.find(name);
  if (!tensor || tensor->dtype != value.dtype || tensor->shape != value.shape ||
      tensor->bytes != static_cast<int64_t>(value.bytes.size()))
    throw Error("tensor '" + std::string(name) + "' is not what the header of '" + file.getPath().string() +
                "' announces");
  file.writeAt(dataOffset + tensor->offsetBytes, value.bytes);
  missing.erase(tensor->name);
}

void SafetensorsWriter::commit() {
  if (!missing.empty())
    throw Error("tensor '" + *missing.begin() + "' was not written to '" + file.getPath().string() + "'");
  file.commit();
}
