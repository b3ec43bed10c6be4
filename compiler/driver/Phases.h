//===- Phases.h - the phases of a compilation ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_DRIVER_PHASES_H
#define TGPT_COMPILER_DRIVER_PHASES_H

#include "compiler/driver/CompileOptions.h"
#include <string>
#include <vector>

namespace tgpt {

/// A phase of the compilation: valid IR in, valid IR out. Its passes are written
/// as a textual pipeline, so that it prints, replays and needs no pass header.
struct Phase {
  std::string name;     ///< what --compile-to calls it
  std::string result;   ///< what the IR is afterwards, for people
  std::string pipeline; ///< "pass{option=value},pass,..."
};

/// All phases for these options, in order: model, training, sharded, partitioned, zero
/// (where asked for and there are dp ranks to share with), pipelined, plan.
std::vector<Phase> phasesOf(const CompileOptions &options);

/// The phases up to and including `last`, as one textual pipeline of module passes.
/// Empty when no phase has that name.
std::string pipelineUpTo(const std::vector<Phase> &phases, const std::string &last);

} // namespace tgpt

#endif // TGPT_COMPILER_DRIVER_PHASES_H
