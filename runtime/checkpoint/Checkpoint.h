//===- runtime/checkpoint/Checkpoint.h - saving a run and taking it up again ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   DIR/latest                            name of the newest checkpoint
//   DIR/step-000010/checkpoint.json       step, tokens seen, place in the data
//   DIR/step-000010/weights.safetensors   parameters, in the compute dtype
//   DIR/step-000010/optimizer.safetensors master copies (bf16 and f16 runs), moments, loss scale
//
// Tensors are whole (unsharded), so any plan of the same model can read them. A
// checkpoint is written under a hidden name, synced and renamed: what is called
// step-* is complete.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define TGPT_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/checkpoint/ReadVariables.h"
#include "runtime/checkpoint/TrainingState.h"

namespace tgpt::runtime {

/// Writes DIR/step-N and points DIR/latest to it; returns its path. Creates DIR.
std::filesystem::path saveCheckpoint(const Job &job, const TrainingState &state,
                                     const std::filesystem::path &directory);

/// The checkpoint that `path` means: itself, or the latest of a directory of checkpoints. Throws Error when there is
/// none.
std::filesystem::path findCheckpoint(const std::filesystem::path &path);

/// Removes what a run that was killed while it saved has left under hidden names, if there is such a directory; a
/// checkpoint that was about to be replaced gets its name back. What belongs to a process that runs is left alone.
void removeLeftovers(const std::filesystem::path &directory);

/// Whether saveCheckpoint has written to this directory before.
bool holdsCheckpoints(const std::filesystem::path &directory);

// Both take a checkpoint found by findCheckpoint.

TrainingState readCheckpointState(const std::filesystem::path &checkpoint);
/// Sets the job's weights and optimizer state.
ReadCounts loadCheckpoint(Job &job, const std::filesystem::path &checkpoint);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_CHECKPOINT_CHECKPOINT_H
