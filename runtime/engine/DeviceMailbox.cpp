//===- DeviceMailbox.cpp - the receiving end of a channel on a device ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/DeviceMailbox.h"

#include <algorithm>

using namespace tgpt::runtime;

DeviceMailbox::DeviceMailbox(DeviceRuntime &device, DeviceMessenger &messenger, std::span<const TensorView> buffers,
                             int64_t perStep, const std::string &label)
    : device(device), messenger(messenger), buffers(buffers), perStep(perStep),
      own(device, device.createStream(label)) {
  device.letWaitForRanks(own);
  for (size_t i = 0; i < buffers.size(); ++i) {
    arrived.emplace_back(device, device.createEvent());
    emptied.emplace_back(device, device.createEvent());
  }
}

void DeviceMailbox::receive(int64_t number) {
  size_t buffer = static_cast<size_t>(number) % buffers.size();
  messenger.receive(own, buffers[buffer]);
  device.record(arrived[buffer], own);
}

void DeviceMailbox::beginStep() {
  taken = 0;
  for (int64_t number = 0; number < std::min<int64_t>(perStep, static_cast<int64_t>(buffers.size())); ++number)
    receive(number);
}

void DeviceMailbox::take(DeviceStream compute, const TensorView &into) {
  size_t buffer = static_cast<size_t>(taken) % buffers.size();
  device.wait(compute, arrived[buffer]);
  device.copy(compute, into.data, buffers[buffer].data, into.bytes());
  int64_t next = taken++ + static_cast<int64_t>(buffers.size());
  if (next >= perStep)
    return;
  device.record(emptied[buffer], compute);
  device.wait(own, emptied[buffer]);
  receive(next);
}
