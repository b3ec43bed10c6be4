//===- LiveItems.h - what a live buffer is for people ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_REPORT_LIVEITEMS_H
#define TGPT_COMPILER_REPORT_LIVEITEMS_H

#include "compiler/report/MemoryReport.h"
#include <map>

namespace tgpt {

/// Names the buffers of a stage by layer, op and line of the model.
class LiveItems {
public:
  LiveItems(const plan::Plan &plan, const plan::StageProgram &stage);

  /// Of all that is live at a moment, the largest first.
  std::vector<LiveItem> at(const StageLiveness &liveness, const MemoryMoment &moment) const;

  /// "nano.mlir:42:5" of an instruction; empty where it has none.
  std::string lineOf(const plan::Instruction &instruction) const;

private:
  void lookAt(const plan::Instruction &instruction, plan::Segment::Kind kind);
  void findVariableLines();
  LiveItem itemOf(uint32_t buffer) const;

  const plan::Plan &plan;
  const plan::StageProgram &stage;
  std::map<std::string, std::string> opAt; ///< line -> the forward kernel of the model there
  std::vector<std::string> line;           ///< of each buffer: where it is made
  std::vector<std::string> laterLine;      ///< where a segment other than the forward reads it first
  std::vector<std::string> forwardLine;    ///< where the forward reads it first
};

} // namespace tgpt

#endif // TGPT_COMPILER_REPORT_LIVEITEMS_H
