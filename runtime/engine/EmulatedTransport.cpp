//===- EmulatedTransport.cpp - collectives of emulated devices --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a world of their own: what a stream waits for is not what its rank's thread waits
// for, and the watchdog looks at the latter.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/EmulatedTransport.h"
#include "runtime/engine/Transport.h"
#include "runtime/plan/Error.h"

using namespace tgpt;
using namespace tgpt::runtime;

namespace {
class EmulatedCommunicator final : public DeviceCommunicator {
public:
  EmulatedCommunicator(DeviceRuntime &device, Communicator &group) : device(device), group(group) {}

  void allReduce(DeviceStream stream, const TensorView &input, const TensorView &output, Reduction reduction) override {
    issue(stream, "all_reduce", input, output, [=, this] { group.allReduce(input, output, reduction); });
  }
  void allGather(DeviceStream stream, const TensorView &input, const TensorView &output, int dim) override {
    issue(stream, "all_gather", input, output, [=, this] { group.allGather(input, output, dim); });
  }
  void reduceScatter(DeviceStream stream, const TensorView &input, const TensorView &output, int dim,
                     Reduction reduction) override {
    issue(stream, "reduce_scatter", input, output, [=, this] { group.reduceScatter(input, output, dim, reduction); });
  }
  void allToAll(DeviceStream stream, const TensorView &input, const TensorView &output, int splitDim,
                int concatDim) override {
    issue(stream, "all_to_all", input, output, [=, this] { group.allToAll(input, output, splitDim, concatDim); });
  }

private:
  void issue(DeviceStream stream, const char *what, const TensorView &input, const TensorView &output,
             std::function<void()> call) {
    DeviceAccess accesses[] = {{input.data, input.bytes(), false}, {output.data, output.bytes(), true}};
    device.issue(stream, what, accesses, std::move(call));
  }
  DeviceRuntime &device;
  Communicator &group;
};

class EmulatedMessenger final : public DeviceMessenger {
public:
  EmulatedMessenger(DeviceRuntime &device, Sender *sender, Receiver *receiver)
      : device(device), sender(sender), receiver(receiver) {}

  void send(DeviceStream stream, const TensorView &message) override {
    DeviceAccess access{message.data, message.bytes(), false};
    device.issue(stream, "send", {&access, 1}, [=, this] { sender->send(message); });
  }
  void receive(DeviceStream stream, const TensorView &message) override {
    DeviceAccess access{message.data, message.bytes(), true};
    device.issue(stream, "recv", {&access, 1}, [=, this] { receiver->receive(message); });
  }

private:
  DeviceRuntime &device;
  Sender *sender;
  Receiver *receiver;
};

class EmulatedTransport final : public DeviceTransport {
public:
  explicit EmulatedTransport(const DeviceTransportRequest &request)
      : plan(withoutBuffers(request.plan)), grid(request.grid),
        world({2 * request.grid.ranks(), 2 * request.grid.ranks()}), host(plan, grid, world, {}, request.grid.ranks()),
        endpoints(request.grid.ranks()) {
    for (int64_t rank : request.ranks)
      addEnds(request.device, rank);
  }
  const DeviceEndpoints &of(int64_t rank) const override { return endpoints[rank]; }
  void check(int64_t) override {}
  void abort() noexcept override { world.abort(); }

private:
  /// The engine's message buffers are around these channels, not in them.
  static plan::Plan withoutBuffers(const plan::Plan &given) {
    plan::Plan plan;
    *plan.mutable_mesh() = given.mesh();
    *plan.mutable_groups() = given.groups();
    *plan.mutable_channels() = given.channels();
    *plan.mutable_stages() = given.stages();
    for (plan::Channel &channel : *plan.mutable_channels())
      channel.clear_receive_buffers();
    return plan;
  }

  void addEnds(DeviceRuntime &device, int64_t rank) {
    const RankEndpoints &ends = host.of(rank);
    auto communicator = [&](Communicator *group) -> DeviceCommunicator * {
      if (!group)
        return nullptr;
      communicators.push_back(std::make_unique<EmulatedCommunicator>(device, *group));
      return communicators.back().get();
    };
    auto messenger = [&](Sender *sender, Receiver *receiver) -> DeviceMessenger * {
      if (!sender && !receiver)
        return nullptr;
      messengers.push_back(std::make_unique<EmulatedMessenger>(device, sender, receiver));
      return messengers.back().get();
    };
    for (Communicator *group : ends.groups)
      endpoints[rank].groups.push_back(communicator(group));
    for (Communicator *group : ends.startedGroups)
      endpoints[rank].startedGroups.push_back(communicator(group));
    for (Sender *sender : ends.senders)
      endpoints[rank].senders.push_back(messenger(sender, nullptr));
    for (Receiver *receiver : ends.receivers)
      endpoints[rank].receivers.push_back(messenger(nullptr, receiver));
  }

  plan::Plan plan;
  RankGrid grid;
  SharedMemoryWorld world;
  Transport host;
  std::vector<std::unique_ptr<EmulatedCommunicator>> communicators;
  std::vector<std::unique_ptr<EmulatedMessenger>> messengers;
  std::vector<DeviceEndpoints> endpoints;
};
} // namespace

std::unique_ptr<DeviceTransport> tgpt::runtime::connectEmulated(const DeviceTransportRequest &request) {
  if (request.processes)
    throw Error("emulated devices reach each other within one process only: leave --launch out");
  return std::make_unique<EmulatedTransport>(request);
}
