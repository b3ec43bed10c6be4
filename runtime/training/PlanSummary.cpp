//===- runtime/training/PlanSummary.cpp - what a plan is for, in a few lines ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/PlanSummary.h"

#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/RankGrid.h"
#include "runtime/training/ProgressLine.h"

#include <algorithm>
#include <iomanip>

using namespace tgpt::runtime;
using namespace tgpt;

static std::string lowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string tgpt::runtime::describeMesh(const plan::Mesh &mesh) {
  std::string text;
  for (const plan::MeshAxis &axis : mesh.axes())
    text += (text.empty() ? "" : " ") + axis.name() + "=" + std::to_string(axis.size());
  return text;
}

static std::string count(int64_t n, const std::string &noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

static std::string describeBatch(const plan::Plan &plan) {
  const plan::TrainingShape &shape = plan.training();
  int64_t dp = RankGrid(plan.mesh()).dataParallelRanks();
  int64_t held = dp * shape.micro_batches() * shape.micro_batch_samples();
  int64_t samples = shape.global_batch() > 0 ? shape.global_batch() : held;
  return count(samples, "sample") + " of " + std::to_string(shape.sequence_length()) + " tokens a step (" +
         std::to_string(dp) + " dp x " + std::to_string(shape.micro_batches()) + " micro-batches x " +
         std::to_string(shape.micro_batch_samples()) +
         (samples < held ? ", " + std::to_string(held - samples) + " filled up" : "") + ")";
}

std::string tgpt::runtime::describePlan(const plan::Plan &plan) {
  const plan::TrainingShape &shape = plan.training();
  return plan.model_name() + ": " + shortCount(static_cast<double>(shape.model_parameters())) + " parameters, " +
         lowerCase(plan::DType_Name(shape.compute_dtype())) + ", " + count(RankGrid(plan.mesh()).ranks(), "rank") +
         " (" + describeMesh(plan.mesh()) + "), " + describeBatch(plan);
}

static void printStage(const plan::StageProgram &stage, std::ostream &out) {
  out << "stage " << stage.stage() << ": " << stage.arena_bytes() << " arena bytes a rank, "
      << count(stage.variables_size(), "variable") << ", " << count(stage.segments_size(), "segment") << ", "
      << stage.schedule_size() << " scheduled\n";
  for (const plan::Region &region : stage.regions()) {
    out << "  " << std::left << std::setw(14) << lowerCase(plan::Region::Kind_Name(region.kind())) << std::right
        << std::setw(16) << runtime::regionBytes(region) << " bytes";
    if (region.slots() != 1)
      out << " in " << region.slots() << " slots of " << region.slot_bytes();
    out << "\n";
  }
}

void tgpt::runtime::printPlanSummary(const plan::Plan &plan, std::ostream &out) {
  const plan::TrainingShape &shape = plan.training();
  out << "model:       " << plan.model_name() << ", " << shape.model_parameters() << " parameters, vocabulary "
      << shape.vocabulary() << "\n"
      << "mesh:        " << describeMesh(plan.mesh()) << " (" << count(RankGrid(plan.mesh()).ranks(), "rank") << ")\n"
      << "batch:       " << describeBatch(plan) << "\n"
      << "dtype:       " << lowerCase(plan::DType_Name(shape.compute_dtype())) << "\n"
      << "model flops: " << shortCount(shape.model_flops_per_step()) << " a step\n"
      << "made by:     " << plan.producer() << (plan.options().empty() ? "" : " with ") << plan.options() << "\n";
  for (const plan::StageProgram &stage : plan.stages())
    printStage(stage, out);
}
