//===- Problems.h - what a model is planned for ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_PLANNER_PROBLEMS_H
#define TGPT_COMPILER_PLANNER_PROBLEMS_H

#include "compiler/search/Problem.h"
#include "cost/cluster/Cluster.h"
#include <string>

namespace tgpt {

/// The search's problem for a model of this shape in "bf16", "f16" or "f32" on one cluster: the bytes of tgpt's states
/// (docs/memory.md), the cluster's rates for the dtype, and the memory of its device. GPUs, batch and pins are the
/// caller's.
search::Problem problemOf(const cost::ModelShape &shape, const cost::Cluster &cluster, const std::string &dtype);

} // namespace tgpt

#endif // TGPT_COMPILER_PLANNER_PROBLEMS_H
