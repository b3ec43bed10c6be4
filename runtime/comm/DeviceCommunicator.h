//===- DeviceCommunicator.h - collectives and messages between devices ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As Communicator.h, for ranks whose arenas are device memory: a call puts its work into a
// stream and returns. What the engine does around it (events, graphs, message buffers) is
// the engine's; what is here moves bytes.
//
// The calls of one communicator, and of one end of a channel, all go into one stream, in
// the same order on all its ranks. They may be captured, and replayed any number of times
// (receive is not).
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_DEVICECOMMUNICATOR_H
#define TGPT_RUNTIME_COMM_DEVICECOMMUNICATOR_H

#include "runtime/comm/Communicator.h"
#include "runtime/device/DeviceRuntime.h"
#include "runtime/plan/RankGrid.h"
#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tgpt::runtime {

/// One rank's membership in one group.
class DeviceCommunicator {
public:
  virtual ~DeviceCommunicator() = default;
  virtual void allReduce(DeviceStream stream, const TensorView &input, const TensorView &output,
                         Reduction reduction) = 0;
  virtual void allGather(DeviceStream stream, const TensorView &input, const TensorView &output, int dim) = 0;
  virtual void reduceScatter(DeviceStream stream, const TensorView &input, const TensorView &output, int dim,
                             Reduction reduction) = 0;
  virtual void allToAll(DeviceStream stream, const TensorView &input, const TensorView &output, int splitDim,
                        int concatDim) = 0;
};

/// One end of a channel between two ranks. The n-th send meets the n-th receive: both are done when the bytes have
/// gone over, there is no buffer between them (the engine receives ahead into the plan's message buffers). A channel
/// never waits for anything but its own other end.
class DeviceMessenger {
public:
  virtual ~DeviceMessenger() = default;
  virtual void send(DeviceStream stream, const TensorView &message) = 0;
  virtual void receive(DeviceStream stream, const TensorView &message) = 0;
};

/// One rank's ends, by the plan's group and channel indices; null where it has none.
struct DeviceEndpoints {
  std::vector<DeviceCommunicator *> groups;        // for the compute stream
  std::vector<DeviceCommunicator *> startedGroups; // for what is started on another stream
  std::vector<DeviceMessenger *> senders;          // not of channels from a rank to itself
  std::vector<DeviceMessenger *> receivers;
};

/// All communicators of the ranks of this process, made once, when the job is.
class DeviceTransport {
public:
  virtual ~DeviceTransport() = default;
  virtual const DeviceEndpoints &of(int64_t rank) const = 0;
  /// Asked now and then while a rank waits for its device: throws Error where communication has failed.
  virtual void check(int64_t rank) = 0;
  /// Ends what is under way, now and later, on all ranks of this process: the job has failed. From any thread.
  virtual void abort() noexcept = 0;
};

/// What a transport is made from.
struct DeviceTransportRequest {
  const plan::Plan &plan;
  const RankGrid &grid;
  DeviceRuntime &device;
  std::vector<int64_t> ranks;     // of this process
  std::vector<int> devices;       // of these ranks
  class SharedMemoryWorld &world; // aborted when the job has failed
  class ProcessTeam *processes;   // null: all ranks are threads of this process
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_DEVICECOMMUNICATOR_H
