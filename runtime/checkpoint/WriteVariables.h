//===- runtime/checkpoint/WriteVariables.h - a job's variables into one file ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_CHECKPOINT_WRITEVARIABLES_H
#define TGPT_RUNTIME_CHECKPOINT_WRITEVARIABLES_H

#include "runtime/checkpoint/SavedVariables.h"

#include <filesystem>
#include <map>

namespace tgpt::runtime {

/// Writes a safetensors file that appears whole or not at all. Every value is divided by `divisor`. Holds one tensor
/// at a time.
void writeVariables(const Job &job, const std::vector<SavedVariable> &variables, const std::filesystem::path &path,
                    const std::map<std::string, std::string> &metadata, double divisor = 1);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_CHECKPOINT_WRITEVARIABLES_H
