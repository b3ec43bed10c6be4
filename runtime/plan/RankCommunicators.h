//===- RankCommunicators.h - the communicators that a plan needs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_PLAN_RANKCOMMUNICATORS_H
#define TGPT_RUNTIME_PLAN_RANKCOMMUNICATORS_H

#include "cost/cluster/Cluster.h"
#include "runtime/plan/plan.pb.h"

namespace tgpt::runtime {

/// Of each rank of a stage: a communicator for every group of more than one rank, a peer for every other stage that it
/// sends to or receives from. `stage` is a place in plan.stages().
cost::CommunicatorCount communicatorsOf(const plan::Plan &plan, int stage);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_PLAN_RANKCOMMUNICATORS_H
