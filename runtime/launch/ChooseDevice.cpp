//===- ChooseDevice.cpp - which GPU a rank gets -----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/launch/ChooseDevice.h"
#include "runtime/plan/Error.h"

#include <charconv>
#include <map>
#include <numeric>
#include <sstream>

using namespace tgpt::runtime;

static std::string counted(int64_t count, const std::string &thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

/// "(CUDA_VISIBLE_DEVICES is '0,1')", with a space before it.
static std::string because(const std::optional<std::string> &visibleDevices) {
  return visibleDevices ? " (CUDA_VISIBLE_DEVICES is '" + *visibleDevices + "')" : "";
}

int tgpt::runtime::countVisible(int present, const std::optional<std::string> &visibleDevices) {
  if (!visibleDevices)
    return present;
  int count = 0;
  std::istringstream entries(*visibleDevices);
  for (std::string entry; std::getline(entries, entry, ',');) {
    int number = -1;
    auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), number);
    if (error != std::errc() || end != entry.data() + entry.size() || number < 0 || number >= present)
      break;
    ++count;
  }
  return count;
}

int tgpt::runtime::chooseDevice(const DeviceView &view) {
  if (view.visible == 0)
    throw Error("no GPU is visible to local rank " + std::to_string(view.localRank) + because(view.visibleDevices));
  if (view.localRank < view.visible)
    return static_cast<int>(view.localRank);
  if (view.visible == 1 && view.visibleDevices)
    return 0; // its own: whether others have it too, checkClaims() sees
  throw Error(counted(view.ranksOnMachine, "rank") + " of this machine need a GPU each, but local rank " +
              std::to_string(view.localRank) + " sees only " + counted(view.visible, "GPU") +
              because(view.visibleDevices) + ": start at most " + std::to_string(view.visible) +
              " here, with a plan for as many, or use more machines");
}

std::vector<int> tgpt::runtime::chooseDevices(int64_t ranks, int visible,
                                              const std::optional<std::string> &visibleDevices) {
  if (visible == 0)
    throw Error("no GPU is visible" + because(visibleDevices));
  if (ranks > visible)
    throw Error("the plan is for " + counted(ranks, "rank") + ", which need a GPU each, but only " +
                counted(visible, "GPU") + (visible == 1 ? " is" : " are") + " visible" + because(visibleDevices) +
                ": compile it for at most " + std::to_string(visible) + ", or use more machines");
  std::vector<int> devices(static_cast<size_t>(ranks));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

void tgpt::runtime::checkClaims(const std::vector<DeviceClaim> &claims) {
  std::map<std::pair<std::string, std::string>, int64_t> owners;
  for (const DeviceClaim &claim : claims)
    if (auto [owner, isNew] = owners.try_emplace({claim.machine, claim.device}, claim.rank); !isNew)
      throw Error("ranks " + std::to_string(owner->second) + " and " + std::to_string(claim.rank) + " have one GPU, " +
                  claim.device + " of " + claim.host + ": give each its own by LOCAL_RANK, or by CUDA_VISIBLE_DEVICES");
}
