//===- runtime/training/TrainingDevice.h - what a run's ranks compute on -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_TRAINING_TRAININGDEVICE_H
#define TGPT_RUNTIME_TRAINING_TRAININGDEVICE_H

#include "runtime/plan/plan.pb.h"
#include "runtime/training/TrainingOptions.h"

#include <memory>

namespace tgpt::runtime {

struct DeviceBackend;

/// "cpu", "cuda".
const char *backendName(DeviceChoice device);

/// Null for ranks on the host. There are as many emulated devices as CUDA_VISIBLE_DEVICES leaves of a machine full of
/// them. Throws Error where there is no such device.
std::shared_ptr<const DeviceBackend> openBackend(DeviceChoice device);

/// Throws Error where a process for each rank cannot have a device each here: found out once, not by all of them.
void checkSpawn(const TrainingOptions &options, const plan::Plan &plan);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRAINING_TRAININGDEVICE_H
