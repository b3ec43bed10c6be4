//===- test/e2e/ScratchBytes.h - what a stage needs while it computes -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_E2E_SCRATCHBYTES_H
#define TGPT_TEST_E2E_SCRATCHBYTES_H

#include "compiler/report/StageLiveness.h"

#include <algorithm>

namespace tgpt::runtime {

/// The most that is live at once of what is dead at the end of its segment.
inline int64_t mostScratchBytes(const plan::StageProgram &stage) {
  StageLiveness liveness(stage);
  int64_t most = 0;
  for (int segment = 0; segment < stage.segments_size(); ++segment)
    for (const InstructionBytes &bytes : liveness.profile(segment))
      most = std::max(most, bytes.scratch);
  return most;
}

} // namespace tgpt::runtime

#endif // TGPT_TEST_E2E_SCRATCHBYTES_H
