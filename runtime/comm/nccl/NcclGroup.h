//===- NcclGroup.h - groups and channels by NCCL ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL knows tensors as runs of elements; a collective along an inner dimension is one for
// each run of elements that lie together, all in one group of calls (a micro-batch of b
// samples, gathered along its sequence, has b of them). No staging memory is used.
//
// A sum adds in an order that NCCL chooses, the same for the same call on the same
// communicator; bf16 and f16 are rounded after each addition. A maximum leaves out NaNs.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_NCCL_NCCLGROUP_H
#define TGPT_RUNTIME_COMM_NCCL_NCCLGROUP_H

#include "runtime/comm/DeviceCommunicator.h"
#include "runtime/comm/nccl/NcclHandle.h"

namespace tgpt::runtime {

/// Runs of a collective along `dim`, seen from the smaller tensor or the larger.
int64_t runsAlong(const TensorView &tensor, int dim);
/// Runs of what an all_to_all sends to each member.
int64_t runsOfAllToAll(const TensorView &input, int64_t members, int splitDim, int concatDim);
/// Calls in one group, at most: more of them take longer to enqueue than to run.
inline constexpr int64_t mostCallsAtOnce = 4096;

class NcclGroup final : public DeviceCommunicator {
public:
  /// Null handle: the group has one member.
  NcclGroup(std::unique_ptr<NcclHandle> handle, DeviceRuntime &device);

  void allReduce(DeviceStream stream, const TensorView &input, const TensorView &output, Reduction reduction) override;
  void allGather(DeviceStream stream, const TensorView &input, const TensorView &output, int dim) override;
  void reduceScatter(DeviceStream stream, const TensorView &input, const TensorView &output, int dim,
                     Reduction reduction) override;
  void allToAll(DeviceStream stream, const TensorView &input, const TensorView &output, int splitDim,
                int concatDim) override;

  NcclHandle *communicator() const { return handle.get(); }

private:
  void copy(DeviceStream stream, const TensorView &input, const TensorView &output);
  void issue(DeviceStream stream, const char *what, const TensorView &input, const TensorView &output,
             std::function<NcclResult(NcclApi &, NcclComm)> call);

  std::unique_ptr<NcclHandle> handle;
  DeviceRuntime &device;
};

/// One end of a channel, on a communicator of its two ranks: the sender is member 0, the receiver 1.
class NcclMessenger final : public DeviceMessenger {
public:
  NcclMessenger(std::unique_ptr<NcclHandle> handle, DeviceRuntime &device)
      : handle(std::move(handle)), device(device) {}

  void send(DeviceStream stream, const TensorView &message) override;
  void receive(DeviceStream stream, const TensorView &message) override;

  NcclHandle *communicator() const { return handle.get(); }

private:
  std::unique_ptr<NcclHandle> handle;
  DeviceRuntime &device;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_NCCL_NCCLGROUP_H
