//===- ChooseDevice.h - which GPU a rank gets -------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rank, one GPU. Launchers differ in what a process sees: all GPUs of its machine
// (torchrun, mpirun, --gpus), of which its local rank is the number, or one of its own
// (srun --gpus-per-task=1), which is then number 0. CUDA_VISIBLE_DEVICES cuts and orders
// what is seen before we look, so numbers here are among those.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_LAUNCH_CHOOSEDEVICE_H
#define TGPT_RUNTIME_LAUNCH_CHOOSEDEVICE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tgpt::runtime {

/// Of `present` devices those that CUDA_VISIBLE_DEVICES leaves, as CUDA reads it: a list up to the first entry that is
/// none of them.
int countVisible(int present, const std::optional<std::string> &visibleDevices);

/// What a process knows before it has a device.
struct DeviceView {
  int64_t localRank = 0;                          // among the ranks of its machine
  int64_t ranksOnMachine = 1;                     // that need a device each
  int visible = 0;                                // devices
  std::optional<std::string> visibleDevices = {}; // CUDA_VISIBLE_DEVICES, where it is set
};

/// The number of this process's device among those that it sees. Throws Error.
int chooseDevice(const DeviceView &view);

/// The devices of `ranks` rank threads: 0, 1, 2, ... Throws Error where this process sees fewer.
std::vector<int> chooseDevices(int64_t ranks, int visible, const std::optional<std::string> &visibleDevices);

/// The device that a rank has taken.
struct DeviceClaim {
  int64_t rank = 0;
  std::string machine; // equal for ranks of one machine
  std::string host;    // its name
  std::string device;  // a name that no other device of the machine has
};

/// Throws Error where two ranks have one device.
void checkClaims(const std::vector<DeviceClaim> &claims);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_LAUNCH_CHOOSEDEVICE_H
