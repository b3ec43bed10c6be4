//===- runtime/checkpoint/TrainingState.h - where a run stands, besides its tensors -------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_CHECKPOINT_TRAININGSTATE_H
#define TGPT_RUNTIME_CHECKPOINT_TRAININGSTATE_H

#include <cstdint>
#include <filesystem>
#include <string>

namespace tgpt::runtime {

/// What checkpoint.json holds.
struct TrainingState {
  static constexpr int64_t formatVersion = 1;

  int64_t step = 0;       // finished steps
  int64_t tokensSeen = 0; // positions trained on, ignored labels included
  int64_t nextDraw = 0;   // samples drawn so far: where the sample order goes on
  uint64_t dataSeed = 0;  // of the sample order
  std::string data;       // description of the token source
  std::string model;      // Plan.model_name
  std::string options;    // Plan.options
};

std::string encodeState(const TrainingState &state);
/// Reads checkpoint.json. Throws Error naming the file and the field.
TrainingState readState(const std::filesystem::path &path);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_CHECKPOINT_TRAININGSTATE_H
