//===- RoundFigures.h - measured figures, to what they are good for ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_CALIBRATION_ROUNDFIGURES_H
#define TGPT_RUNTIME_CALIBRATION_ROUNDFIGURES_H

#include "cost/cluster/Cluster.h"

namespace tgpt::runtime::calibration {

/// All figures that are measured, to four digits: more would be noise.
void roundFigures(cost::Cluster &cluster);

} // namespace tgpt::runtime::calibration

#endif // TGPT_RUNTIME_CALIBRATION_ROUNDFIGURES_H
