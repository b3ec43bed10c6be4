//===- CheckPlan.cpp - is a plan safe to execute? ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the groups of checks in order; a group is only meaningful when the ones
// before it found nothing.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/CheckPlan.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/PlanProblems.h"

#include <cmath>
#include <set>

using namespace tgpt;
using namespace tgpt::runtime;

/// Ranks of the largest run a plan may describe.
static constexpr int64_t mostRanks = 1 << 20;

static void checkAxes(const plan::Mesh &mesh, PlanProblems &problems) {
  std::set<std::string> seen;
  int64_t ranks = 1;
  for (const plan::MeshAxis &axis : mesh.axes()) {
    std::string place = "mesh axis '" + axis.name() + "'";
    if (!isMeshAxisName(axis.name()))
      problems.add(place + " is unknown: the axes are 'dp_replica', 'dp', 'pp', 'tp' and 'tp_inner'");
    if (!seen.insert(axis.name()).second)
      problems.add(place + " is listed twice");
    if (axis.size() < 1)
      return problems.add(place + " has size " + std::to_string(axis.size()) + ", it must be at least 1");
    if (__builtin_mul_overflow(ranks, axis.size(), &ranks) || ranks > mostRanks)
      return problems.add("the mesh has more than " + std::to_string(mostRanks) + " ranks at axis '" + axis.name() +
                          "' of size " + std::to_string(axis.size()));
  }
}

static void checkGlobalBatch(const plan::Plan &plan, PlanProblems &problems) {
  const plan::TrainingShape &training = plan.training();
  int64_t held = training.micro_batch_samples(), batch = training.global_batch();
  for (const plan::MeshAxis &axis : plan.mesh().axes())
    if (std::find(dataAxes.begin(), dataAxes.end(), axis.name()) != dataAxes.end() &&
        __builtin_mul_overflow(held, axis.size(), &held))
      return problems.add("the samples of a step overflow");
  if (__builtin_mul_overflow(held, training.micro_batches(), &held))
    return problems.add("the samples of a step overflow");
  if (batch < 0 || batch > held)
    problems.add("training shape: global_batch is " + std::to_string(batch) +
                 ", but the micro-batches of a step hold " + std::to_string(held) + " samples");
}

static void checkTraining(const plan::TrainingShape &training, PlanProblems &problems) {
  auto positive = [&](const char *what, int64_t value) {
    if (value < 1)
      problems.add(std::string("training shape: ") + what + " is " + std::to_string(value) + ", it must be at least 1");
  };
  positive("sequence_length", training.sequence_length());
  positive("micro_batch_samples", training.micro_batch_samples());
  positive("micro_batches", training.micro_batches());
  positive("vocabulary", training.vocabulary());
  if (double flops = training.model_flops_per_step(); !(flops >= 0) || std::isinf(flops))
    problems.add("training shape: model_flops_per_step is " + std::to_string(flops) + ", it must be 0 or more");
}

void tgpt::runtime::checkMesh(const plan::Plan &plan, PlanProblems &problems) {
  if (plan.format_version() != planFormatVersion)
    problems.add("the plan has format version " + std::to_string(plan.format_version()) + ", but this build reads " +
                 std::to_string(planFormatVersion));
  checkAxes(plan.mesh(), problems);
  checkTraining(plan.training(), problems);
  if (!problems.any())
    checkGlobalBatch(plan, problems);
  if (problems.any())
    return;
  int64_t stages = RankGrid(plan.mesh()).stages();
  if (plan.stages_size() != stages)
    return problems.add("the plan has " + std::to_string(plan.stages_size()) +
                        " stage programs, but mesh axis 'pp' has size " + std::to_string(stages));
  for (int i = 0; i < plan.stages_size(); ++i)
    if (plan.stages(i).stage() != i)
      problems.add("stage program " + std::to_string(i) + " says it is stage " +
                   std::to_string(plan.stages(i).stage()));
}

std::vector<std::string> tgpt::runtime::findPlanProblems(const plan::Plan &plan, const KernelCheck &kernelCheck) {
  PlanProblems problems;
  checkMesh(plan, problems);
  if (problems.any())
    return problems.take();
  RankGrid grid(plan.mesh());
  checkMemory(plan, problems);
  if (problems.any())
    return problems.take();
  checkVariables(plan, grid, problems);
  if (problems.any())
    return problems.take();
  checkCopies(plan, problems);
  if (problems.any())
    return problems.take();
  checkTransport(plan, grid, problems);
  if (problems.any())
    return problems.take();
  checkInstructions(plan, grid, kernelCheck, problems);
  checkSchedule(plan, problems);
  if (problems.any())
    return problems.take();
  checkFlights(plan, problems);
  checkProgress(plan, grid, problems);
  checkDataflow(plan, problems);
  if (problems.any())
    return problems.take();
  checkLayouts(plan, problems);
  return problems.take();
}

void tgpt::runtime::checkPlan(const plan::Plan &plan, const KernelCheck &kernelCheck) {
  std::vector<std::string> problems = findPlanProblems(plan, kernelCheck);
  if (problems.empty())
    return;
  std::string more = problems.size() == 1 ? "" : " (and " + std::to_string(problems.size() - 1) + " more)";
  const std::string &first = problems.front();
  size_t line = std::min(first.find('\n'), first.size());
  throw Error("invalid plan: " + first.substr(0, line) + more, first.substr(std::min(line + 1, first.size())));
}
