//===- runtime/training/ArenaReport.h - planned and used bytes of every rank ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_TRAINING_ARENAREPORT_H
#define TGPT_RUNTIME_TRAINING_ARENAREPORT_H

#include "runtime/engine/Job.h"

#include <ostream>

namespace tgpt::runtime {

/// Prints a table with a line per rank; returns the number of ranks whose high-water mark is not what was planned.
int64_t printArenaReport(const Job &job, std::ostream &out);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRAINING_ARENAREPORT_H
