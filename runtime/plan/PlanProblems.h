//===- PlanProblems.h - the checks behind checkPlan -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function per group of checks. Each relies on the groups before it.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_PLAN_PLANPROBLEMS_H
#define TGPT_RUNTIME_PLAN_PLANPROBLEMS_H

#include "runtime/plan/CheckPlan.h"
#include "runtime/plan/RankGrid.h"
#include "runtime/plan/plan.pb.h"

#include <string>
#include <utility>
#include <vector>

namespace tgpt::runtime {

/// Collects what is wrong; stops listening after `most` entries.
class PlanProblems {
public:
  static constexpr size_t most = 20;
  void add(std::string problem) {
    if (!full())
      list.push_back(std::move(problem));
  }
  bool any() const { return !list.empty(); }
  bool full() const { return list.size() >= most; }
  std::vector<std::string> take() { return std::move(list); }

private:
  std::vector<std::string> list;
};

/// Version, mesh, number of stages, training shape.
void checkMesh(const plan::Plan &plan, PlanProblems &problems);
/// Most dimensions of a tensor: TensorView::maxRank; restated because the plan library does not know kernels.
inline constexpr int mostDimensions = 6;

/// Regions and buffers of each stage.
void checkMemory(const plan::Plan &plan, PlanProblems &problems);
/// Variables of each stage: shard, region, first value.
void checkVariables(const plan::Plan &plan, const RankGrid &grid, PlanProblems &problems);
/// Variables that several stages hold, and windows on one tensor.
void checkCopies(const plan::Plan &plan, PlanProblems &problems);
/// Groups and channels.
void checkTransport(const plan::Plan &plan, const RankGrid &grid, PlanProblems &problems);
/// Operands, attributes, collectives, messages, kernels of each instruction.
void checkInstructions(const plan::Plan &plan, const RankGrid &grid, const KernelCheck &kernelCheck,
                       PlanProblems &problems);
/// Order of segments, micro-batches and slots within each stage.
void checkSchedule(const plan::Plan &plan, PlanProblems &problems);
/// No two holders have a byte of slots, pages and leaves at one time, where these lie anywhere.
void checkPlaces(const plan::StageProgram &stage, PlanProblems &problems);
/// Started collectives end within their segment, and nothing touches their bytes meanwhile.
void checkFlights(const plan::Plan &plan, PlanProblems &problems);
/// Every byte of the short-lived regions is written before it is read.
void checkDataflow(const plan::Plan &plan, PlanProblems &problems);
/// Every value is taken for what it is: whole, a shard, or an addend.
void checkLayouts(const plan::Plan &plan, PlanProblems &problems);
/// All stages together: matching collectives, no deadlock, no message left over.
void checkProgress(const plan::Plan &plan, const RankGrid &grid, PlanProblems &problems);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_PLAN_PLANPROBLEMS_H
