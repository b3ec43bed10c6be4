//===- runtime/training/PlanSummary.h - what a plan is for, in a few lines ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_TRAINING_PLANSUMMARY_H
#define TGPT_RUNTIME_TRAINING_PLANSUMMARY_H

#include "runtime/plan/plan.pb.h"

#include <ostream>
#include <string>

namespace tgpt::runtime {

/// "dp=2 pp=2 tp=2".
std::string describeMesh(const plan::Mesh &mesh);

/// One line: model, parameters, mesh, batch.
std::string describePlan(const plan::Plan &plan);

/// Model, mesh, batch, and the arena of every stage by region.
void printPlanSummary(const plan::Plan &plan, std::ostream &out);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRAINING_PLANSUMMARY_H
