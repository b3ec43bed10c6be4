//===- StepTotals.cpp - what a simulated step comes to ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Error.h"
#include "runtime/plan/PlanText.h"
#include "runtime/sim/StepSimulation.h"

#include <algorithm>
#include <cmath>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::sim;

/// Devices, or cores where ranks share them: what the operations of a step could have used.
double StepSimulation::countDevices() const {
  double devices = static_cast<double>(result.ranks);
  if (cores <= 0)
    return devices;
  double perNode = cluster.topology.ranksPerNode;
  return std::min(devices, cores * (perNode > 0 ? std::ceil(devices / perNode) : 1));
}

double StepSimulation::countSamples() const {
  const plan::TrainingShape &shape = plan.training();
  if (shape.global_batch() > 0)
    return static_cast<double>(shape.global_batch());
  return static_cast<double>(actions.getGrid().dataParallelRanks() * shape.micro_batches() *
                             shape.micro_batch_samples());
}

void StepSimulation::addUp() {
  const RankGrid &grid = actions.getGrid();
  const plan::TrainingShape &shape = plan.training();
  double end = 0;
  for (const RankSeconds &stage : result.stages)
    end = std::max(end, stage.end);
  for (RankSeconds &stage : result.stages)
    stage.idle += end - stage.end;
  result.ranks = grid.ranks();
  result.ranksPerStage = grid.ranks() / plan.stages_size();
  result.overheadSeconds = cluster.software.stepSeconds;
  if (cluster.measured)
    result.overheadSeconds += cluster.measured->secondsOfStep(static_cast<double>(grid.ranks()));
  result.seconds = end + result.overheadSeconds;
  if (result.seconds <= 0)
    return;
  cost::Dtype dtype = floatDtype(shape.compute_dtype()).value_or(cost::Dtype::F32);
  result.modelFlopsShare =
      shape.model_flops_per_step() / (countDevices() * cluster.device.matrixFlopsPerSecond[dtype] * result.seconds);
  result.tokensPerSecond = countSamples() * static_cast<double>(shape.sequence_length()) / result.seconds;
}

void StepSimulation::failStuck() const {
  std::string places;
  for (const Stage &stage : stages)
    if (!isDone(stage)) {
      const plan::StageProgram &program = plan.stages(indexOf(stage));
      places +=
          (places.empty() ? "  " : "\n  ") +
          instructionPlace(plan, program, static_cast<int>(program.schedule(stage.entry).segment()), stage.index) +
          " in entry " + std::to_string(stage.entry);
    }
  throw Error("the step never ends: stages wait for each other", places);
}
