//===- runtime/training/TrainingDevice.cpp - what a run's ranks compute on -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/TrainingDevice.h"

#include "runtime/backends/DeviceBackends.h"
#include "runtime/launch/ChooseDevice.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/RankGrid.h"
#include "runtime/training/PlanSummary.h"

#include <cstdlib>

using namespace tgpt;
using namespace tgpt::runtime;

const char *tgpt::runtime::backendName(DeviceChoice device) {
  switch (device) {
  case DeviceChoice::Host: return "cpu";
  case DeviceChoice::Cuda: return "cuda";
  case DeviceChoice::CudaEmulated: return "cuda-emulated";
  }
  return "";
}

static std::optional<std::string> visibleDevices() {
  const char *text = std::getenv("CUDA_VISIBLE_DEVICES");
  return text ? std::optional<std::string>(text) : std::nullopt;
}

std::shared_ptr<const DeviceBackend> tgpt::runtime::openBackend(DeviceChoice device) {
  switch (device) {
  case DeviceChoice::Host: return nullptr;
  case DeviceChoice::Cuda: return cudaBackend();
  case DeviceChoice::CudaEmulated:
    return emulatedBackend({.devices = countVisible(EmulatedDeviceOptions().devices, visibleDevices())});
  }
  return nullptr;
}

void tgpt::runtime::checkSpawn(const TrainingOptions &options, const plan::Plan &plan) {
  int64_t ranks = RankGrid(plan.mesh()).ranks();
  if (options.gpus && *options.gpus != ranks)
    throw Error("--gpus is " + std::to_string(*options.gpus) + ", but the plan is for " + std::to_string(ranks) +
                (ranks == 1 ? " rank" : " ranks") + " (" + describeMesh(plan.mesh()) +
                "), each with a GPU: use --gpus=" + std::to_string(ranks) + ", or compile it for " +
                std::to_string(*options.gpus));
  if (std::shared_ptr<const DeviceBackend> backend = openBackend(options.device))
    chooseDevices(ranks, backend->device->count(), visibleDevices());
}
