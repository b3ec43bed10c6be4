//===- GroupOfRanks.h - a group of threads, processes or machines ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_COMM_GROUPOFRANKS_H
#define TGPT_TEST_UNIT_COMM_GROUPOFRANKS_H

#include "test/unit/comm/GroupOfThreads.h"
#include "test/unit/comm/MappedRanks.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

namespace tgpt::test {

/// How ranks reach each other: as threads, as processes that have the same memory at addresses of their own, or as such
/// processes on two machines.
enum class Way { Threads, Processes, Machines };

/// Machines that serve each other's memory; rank r is on machine r modulo their number.
class Machines {
public:
  Machines(int64_t count, int64_t ranks, size_t arenaBytes) {
    for (int64_t i = 0; i < count; ++i) {
      memories.push_back(std::make_unique<MappedRanks>(ranks, arenaBytes));
      runtime::Socket listener = runtime::listenOnPort(0);
      ports.push_back(runtime::portOf(listener));
      servers.push_back(std::make_unique<runtime::MemoryServer>(memories.back()->whole(0), std::move(listener), key));
    }
  }

  const MappedRanks &of(int64_t rank) const { return *memories[rank % memories.size()]; }
  runtime::RemoteLinks linksOf(int64_t rank, int64_t ranks, const runtime::SharedMemoryWorld &world) const {
    runtime::RemoteLinks links;
    links.byRank.resize(ranks);
    for (size_t i = 0; i < memories.size(); ++i)
      if (i != rank % memories.size()) {
        links.machines.push_back(std::make_unique<runtime::RemoteMemory>(of(rank).whole(rank), "127.0.0.1", ports[i],
                                                                         key, [&world] { return world.aborted(); }));
        for (int64_t other = static_cast<int64_t>(i); other < ranks; other += static_cast<int64_t>(memories.size()))
          links.byRank[other] = links.machines.back().get();
      }
    return links;
  }

private:
  std::string key = "sesame";
  std::vector<std::unique_ptr<MappedRanks>> memories;
  std::vector<uint16_t> ports;
  std::vector<std::unique_ptr<runtime::MemoryServer>> servers;
};

template <typename Call>
HostTensors runProcesses(int64_t machineCount, HostTensors &inputs, const std::vector<int64_t> &outputShape,
                         const Call &call) {
  int64_t size = static_cast<int64_t>(inputs.size());
  HostTensors outputs(inputs.size(), HostTensor(inputs[0].view.dtype, outputShape));
  size_t outputAt = (inputs[0].bytes.size() + 63) / 64 * 64;
  Machines machines(machineCount, size, outputAt + outputs[0].bytes.size());
  std::atomic<int64_t> present{0};
  onRanks(size, [&](int64_t m) {
    const MappedRanks &mapped = machines.of(m);
    runtime::SharedMemoryWorld world({size, size}, mapped.world(m));
    runtime::RemoteLinks links = machines.linksOf(m, size, world);
    runtime::SharedMemoryGroup before(world, "group 0", firstRanks(size), 0, mapped.arenas(m, firstRanks(size)));
    runtime::SharedMemoryGroup group(world, "group 1", firstRanks(size), 0, mapped.arenas(m, firstRanks(size)), &links);
    TensorView input = inputs[m].view, output = outputs[m].view;
    input.data = mapped.arena(m, m), output.data = mapped.arena(m, m) + outputAt;
    std::memcpy(input.data, inputs[m].bytes.data(), inputs[m].bytes.size());
    call(group.member(m), input, output);
    std::memcpy(inputs[m].bytes.data(), input.data, inputs[m].bytes.size());
    std::memcpy(outputs[m].bytes.data(), output.data, outputs[m].bytes.size());
    ++present;
    while (present.load() < size) // a world outlives every wait on it
      std::this_thread::yield();
  });
  return outputs;
}

/// The outputs of all members; inputs change where the call works in place.
template <typename Call>
HostTensors run(Way way, HostTensors &inputs, const std::vector<int64_t> &outputShape, const Call &call) {
  return way == Way::Threads ? runThreads(inputs, outputShape, call)
                             : runProcesses(way == Way::Machines ? 2 : 1, inputs, outputShape, call);
}

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_COMM_GROUPOFRANKS_H
