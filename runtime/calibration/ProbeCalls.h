//===- ProbeCalls.h - which kernel calls are measured ---------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_CALIBRATION_PROBECALLS_H
#define TGPT_RUNTIME_CALIBRATION_PROBECALLS_H

#include "runtime/kernels/bench/Workloads.h"

namespace tgpt::runtime::calibration {

// Quick: the smallest ones alone.

/// The calls of training steps of models from narrow to wide, in one compute dtype; in f32 and f64 also those that sum
/// in chunks (--reduction=canonical).
std::vector<Workload> stepCalls(DType compute, bool isQuick);

/// Those of the last of these models alone.
std::vector<Workload> largestStepCalls(DType compute, bool isQuick);

/// Products of square matrices, smallest first: the efficiency curve.
std::vector<Workload> squareProducts(DType compute, bool isQuick);

/// Copies, smallest first: bandwidth by size.
std::vector<Workload> copies(bool isQuick);

} // namespace tgpt::runtime::calibration

#endif // TGPT_RUNTIME_CALIBRATION_PROBECALLS_H
