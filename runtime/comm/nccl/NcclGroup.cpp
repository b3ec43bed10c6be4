//===- NcclGroup.cpp - groups and channels by NCCL --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that a stream keeps hold views by value: a graph replays them.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/nccl/NcclGroup.h"
#include "runtime/plan/Error.h"

#include <algorithm>

using namespace tgpt::runtime;

int64_t tgpt::runtime::runsAlong(const TensorView &tensor, int dim) {
  int64_t runs = 1;
  for (int i = 0; i < dim; ++i)
    runs *= tensor.shape[i];
  return runs;
}

int64_t tgpt::runtime::runsOfAllToAll(const TensorView &input, int64_t members, int splitDim, int concatDim) {
  int64_t runs = runsAlong(input, std::max(splitDim, concatDim));
  return splitDim < concatDim ? runs / members : runs;
}

NcclGroup::NcclGroup(std::unique_ptr<NcclHandle> handle, DeviceRuntime &device)
    : handle(std::move(handle)), device(device) {}

static NcclOperation operationOf(Reduction reduction) {
  if (reduction == Reduction::TreeSum)
    throw Error("NCCL cannot add in the order of a plan with --reduction=canonical");
  return reduction == Reduction::Max ? NcclOperation::Max : NcclOperation::Sum;
}

void NcclGroup::copy(DeviceStream stream, const TensorView &input, const TensorView &output) {
  if (input.data != output.data)
    device.copy(stream, output.data, input.data, input.bytes());
}

/// Puts a group of calls into the stream.
void NcclGroup::issue(DeviceStream stream, const char *what, const TensorView &input, const TensorView &output,
                      std::function<NcclResult(NcclApi &, NcclComm)> call) {
  DeviceAccess accesses[] = {{input.data, input.bytes(), false}, {output.data, output.bytes(), true}};
  device.issue(stream, what, accesses, [this, what, call = std::move(call)] { handle->issueGroup(what, call); });
}

/// What `count` equal calls say: the first that is not well.
template <typename Call> static NcclResult inTurn(int64_t count, Call call) {
  for (int64_t i = 0; i < count; ++i)
    if (NcclResult result = call(i); result != NcclResult::Success && result != NcclResult::InProgress)
      return result;
  return NcclResult::Success;
}

void NcclGroup::allReduce(DeviceStream stream, const TensorView &input, const TensorView &output, Reduction reduction) {
  NcclOperation operation = operationOf(reduction);
  if (!handle)
    return copy(stream, input, output);
  issue(stream, "ncclAllReduce", input, output, [=](NcclApi &api, NcclComm comm) {
    return api.allReduce(input.data, output.data, static_cast<size_t>(input.elements()), ncclTypeOf(input.dtype),
                         operation, comm, stream.handle);
  });
}

void NcclGroup::allGather(DeviceStream stream, const TensorView &input, const TensorView &output, int dim) {
  if (!handle)
    return copy(stream, input, output);
  int64_t runs = runsAlong(input, dim);
  size_t run = input.bytes() / static_cast<size_t>(runs), whole = run * static_cast<size_t>(handle->size());
  issue(stream, "ncclAllGather", input, output, [=](NcclApi &api, NcclComm comm) {
    return inTurn(runs, [&](int64_t i) {
      return api.allGather(input.as<std::byte>() + i * run, output.as<std::byte>() + i * whole,
                           run / sizeInBytes(input.dtype), ncclTypeOf(input.dtype), comm, stream.handle);
    });
  });
}

void NcclGroup::reduceScatter(DeviceStream stream, const TensorView &input, const TensorView &output, int dim,
                              Reduction reduction) {
  NcclOperation operation = operationOf(reduction);
  if (!handle)
    return copy(stream, input, output);
  int64_t runs = runsAlong(output, dim);
  size_t run = output.bytes() / static_cast<size_t>(runs), whole = run * static_cast<size_t>(handle->size());
  issue(stream, "ncclReduceScatter", input, output, [=](NcclApi &api, NcclComm comm) {
    return inTurn(runs, [&](int64_t i) {
      return api.reduceScatter(input.as<std::byte>() + i * whole, output.as<std::byte>() + i * run,
                               run / sizeInBytes(input.dtype), ncclTypeOf(input.dtype), operation, comm, stream.handle);
    });
  });
}

namespace {
/// Where the runs of a member's part lie in a tensor of which it has `part` of the elements along `dim`.
struct RunPlaces {
  RunPlaces(const TensorView &tensor, int dim, int64_t part, int last)
      : tensor(tensor), dim(dim), part(part), last(last) {}

  /// Of run `number`, counted over the part's dimensions before `last`, of `member`: elements from the tensor's begin.
  int64_t of(int64_t number, int64_t member) const {
    std::array<int64_t, TensorView::maxRank> at{};
    for (int i = last - 1; i >= 0; --i) {
      int64_t size = i == dim ? part : tensor.shape[i];
      at[i] = number % size;
      number /= size;
    }
    at[dim] += member * part;
    int64_t element = 0;
    for (int i = 0; i < tensor.rank; ++i)
      element = element * tensor.shape[i] + at[i];
    return element;
  }

  const TensorView &tensor;
  int dim;
  int64_t part;
  int last;
};
} // namespace

void NcclGroup::allToAll(DeviceStream stream, const TensorView &input, const TensorView &output, int splitDim,
                         int concatDim) {
  if (!handle)
    return copy(stream, input, output);
  int64_t members = handle->size(), runs = runsOfAllToAll(input, members, splitDim, concatDim);
  int last = std::max(splitDim, concatDim);
  size_t count = static_cast<size_t>(input.elements() / members / runs), element = sizeInBytes(input.dtype);
  issue(stream, "an all_to_all of ncclSend and ncclRecv", input, output, [=](NcclApi &api, NcclComm comm) {
    RunPlaces from(input, splitDim, input.shape[splitDim] / members, last);
    RunPlaces to(output, concatDim, output.shape[concatDim] / members, last);
    return inTurn(2 * members * runs, [&](int64_t i) {
      int64_t peer = i / 2 / runs, run = i / 2 % runs;
      auto rank = static_cast<int>(peer);
      NcclType type = ncclTypeOf(input.dtype);
      return i % 2 == 0 ? api.send(input.as<std::byte>() + from.of(run, peer) * element, count, type, rank, comm,
                                   stream.handle)
                        : api.receive(output.as<std::byte>() + to.of(run, peer) * element, count, type, rank, comm,
                                      stream.handle);
    });
  });
}

void NcclMessenger::send(DeviceStream stream, const TensorView &message) {
  DeviceAccess access{message.data, message.bytes(), false};
  device.issue(stream, "ncclSend", {&access, 1}, [this, message, stream] {
    handle->issue("ncclSend", [&](NcclApi &api, NcclComm comm) {
      return api.send(message.data, static_cast<size_t>(message.elements()), ncclTypeOf(message.dtype), 1, comm,
                      stream.handle);
    });
  });
}

void NcclMessenger::receive(DeviceStream stream, const TensorView &message) {
  DeviceAccess access{message.data, message.bytes(), true};
  device.issue(stream, "ncclRecv", {&access, 1}, [this, message, stream] {
    handle->issue("ncclRecv", [&](NcclApi &api, NcclComm comm) {
      return api.receive(message.data, static_cast<size_t>(message.elements()), ncclTypeOf(message.dtype), 0, comm,
                         stream.handle);
    });
  });
}
