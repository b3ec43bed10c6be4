//===- runtime/training/PartTimes.h - where the time of a step goes ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_TRAINING_PARTTIMES_H
#define TGPT_RUNTIME_TRAINING_PARTTIMES_H

#include "runtime/engine/Job.h"

#include <ostream>
#include <string_view>

namespace tgpt::runtime {

/// "GEMM", "attention", "norms", "loss", "optimizer", "communication" or "other".
std::string_view partOf(std::string_view opcode);

/// Prints seconds by part and by opcode: per step, the mean over ranks.
void printPartTimes(const Job &job, int64_t steps, std::ostream &out);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRAINING_PARTTIMES_H
