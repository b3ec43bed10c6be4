//===- DeviceMailbox.h - the receiving end of a channel on a device ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A send on a device waits for its receive. The plan, and its proof that no rank waits for
// itself, is of channels with message buffers: a sender goes on when there is one. So the
// receiver receives ahead, on a stream of its own: into every message buffer at the start
// of the step, and again as soon as a message was copied out.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_DEVICEMAILBOX_H
#define TGPT_RUNTIME_ENGINE_DEVICEMAILBOX_H

#include "runtime/comm/DeviceCommunicator.h"
#include "runtime/engine/DeviceHandles.h"

#include <span>
#include <string>
#include <vector>

namespace tgpt::runtime {

class DeviceMailbox {
public:
  /// `perStep` messages arrive in each step.
  DeviceMailbox(DeviceRuntime &device, DeviceMessenger &messenger, std::span<const TensorView> buffers, int64_t perStep,
                const std::string &label);

  /// Begins to receive. When it is called, nothing of an earlier step is under way.
  void beginStep();
  /// Puts into `compute`: wait for the next message, copy it out. Its buffer is free for another one then.
  void take(DeviceStream compute, const TensorView &into);
  DeviceStream stream() const { return own; }

private:
  void receive(int64_t number);

  DeviceRuntime &device;
  DeviceMessenger &messenger;
  std::span<const TensorView> buffers;
  int64_t perStep;
  int64_t taken = 0; // of this step
  OwnedStream own;
  std::vector<OwnedEvent> arrived, emptied; // by buffer
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_DEVICEMAILBOX_H
