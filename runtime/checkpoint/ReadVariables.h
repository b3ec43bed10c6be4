//===- runtime/checkpoint/ReadVariables.h - a job's variables from files --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Names and shapes must fit the plan exactly; a floating dtype may differ (a run
// in bf16 continues one in f32, or the other way round):
//
//   parameter   its own tensor where the dtype is the plan's, else the master
//               copy (the more precise one) where the files hold one
//   master      its own tensor, else the parameter's
//   moments     their own tensors
//   scaling     its own tensors; where the files hold none, it starts anew, and where
//               the plan has none, they are passed over
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_CHECKPOINT_READVARIABLES_H
#define TGPT_RUNTIME_CHECKPOINT_READVARIABLES_H

#include "runtime/checkpoint/SafetensorsReader.h"
#include "runtime/checkpoint/SavedVariables.h"

namespace tgpt::runtime {

/// How many variables were set, and how many of them changed dtype.
struct ReadCounts {
  int64_t variables = 0;
  int64_t converted = 0;
};

/// Sets weights and optimizer state. Throws Error, before anything is changed, naming the first misfit and how many
/// there are. Holds one tensor at a time.
ReadCounts readCheckpointVariables(Job &job, const SafetensorsReader &weights, const SafetensorsReader &optimizer);

/// Sets the weights (and master copies); moments stay as they are.
ReadCounts readWeights(Job &job, const SafetensorsReader &weights);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_CHECKPOINT_READVARIABLES_H
