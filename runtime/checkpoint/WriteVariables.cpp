//===- runtime/checkpoint/WriteVariables.cpp - a job's variables into one file --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/WriteVariables.h"

#include "runtime/checkpoint/SafetensorsWriter.h"
#include "runtime/engine/Scalar.h"

using namespace tgpt::runtime;

static void divideBy(LogicalTensor &tensor, double divisor) {
  int64_t elements = tensor.bytes.size() / sizeInBytes(tensor.dtype);
  TensorView flat{.data = tensor.bytes.data(), .dtype = tensor.dtype, .rank = 1, .shape = {elements}};
  for (int64_t i = 0; i < elements; ++i)
    storeElement(flat, loadElement(flat, i) / divisor, i);
}

static void add(LogicalTensor &tensor, const LogicalTensor &addend) {
  int64_t elements = tensor.bytes.size() / sizeInBytes(tensor.dtype);
  TensorView flat{.data = tensor.bytes.data(), .dtype = tensor.dtype, .rank = 1, .shape = {elements}};
  for (int64_t i = 0; i < elements; ++i)
    storeElement(flat, loadElement(flat, i) + loadElement(addend.view(), i), i);
}

void tgpt::runtime::writeVariables(const Job &job, const std::vector<SavedVariable> &variables,
                                   const std::filesystem::path &path,
                                   const std::map<std::string, std::string> &metadata, double divisor) {
  std::vector<StoredTensor> tensors;
  for (const SavedVariable &variable : variables)
    tensors.push_back({.name = variable.tensor, .dtype = variable.dtype, .shape = variable.shape});
  SafetensorsWriter writer(path, std::move(tensors), metadata);
  for (const SavedVariable &variable : variables) {
    LogicalTensor value = job.readVariable(variable.variable);
    for (const std::string &addend : variable.addends)
      add(value, job.readVariable(addend));
    if (divisor != 1)
      divideBy(value, divisor);
    writer.write(variable.tensor, value);
  }
  writer.commit();
}
