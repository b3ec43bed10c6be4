//===- EmulatedGraph.cpp - captures and graphs of emulated devices -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph is the list of what came into the captured streams. A launch puts it into the
// launching stream and, for the other branches, into streams and events of the graph's
// own: so it runs, and is checked, like work that was put there one by one.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/EmulatedDevice.h"
#include "runtime/device/EmulatedStreams.h"
#include "runtime/plan/Error.h"

#include <algorithm>

using namespace tgpt::runtime;

size_t EmulatedDevice::Capture::branchOf(const Stream &stream) const {
  return static_cast<size_t>(std::find(branches.begin(), branches.end(), &stream) - branches.begin());
}

void EmulatedDevice::Capture::add(size_t branch, Work item) {
  ++counts[branch];
  clocks[branch].resize(std::max(clocks[branch].size(), branches.size()));
  clocks[branch][branch] = counts[branch];
  work.emplace_back(branch, std::move(item));
}

void EmulatedDevice::Capture::join(size_t branch, const std::vector<size_t> &clock) {
  std::vector<size_t> &own = clocks[branch];
  own.resize(std::max(own.size(), branches.size()));
  for (size_t i = 0; i < clock.size(); ++i)
    own[i] = std::max(own[i], clock[i]);
}

bool EmulatedDevice::Device::isCapturing(std::thread::id thread) const {
  return std::any_of(streams.begin(), streams.end(), [&](const auto &entry) {
    return entry.second->capture && entry.second->capture->thread == thread;
  });
}

void EmulatedDevice::beginCapture(DeviceStream handle) {
  auto &stream = *static_cast<Stream *>(handle.handle);
  std::lock_guard lock(stream.device->mutex);
  if (stream.capture)
    throw Error("stream '" + stream.label + "' is captured already");
  if (const Stream *waiting = stream.device->waitingStream())
    throw Error("a capture of stream '" + stream.label + "' begins while stream '" + waiting->label +
                "' waits for another rank: a GPU may wait for all streams to make a graph of it");
  auto capture = std::make_shared<Capture>();
  capture->thread = std::this_thread::get_id();
  capture->branches = {&stream};
  capture->clocks = {{0}};
  capture->counts = {0};
  stream.capture = capture;
}

DeviceGraph EmulatedDevice::endCapture(DeviceStream handle) {
  auto &stream = *static_cast<Stream *>(handle.handle);
  Device &device = *stream.device;
  std::shared_ptr<Capture> capture;
  {
    std::lock_guard lock(device.mutex);
    capture = stream.capture;
    if (!capture || capture->branches.front() != &stream)
      throw Error("stream '" + stream.label + "' has begun no capture");
    std::vector<size_t> &seen = capture->clocks.front();
    seen.resize(capture->branches.size());
    for (size_t branch = 1; branch < capture->branches.size(); ++branch)
      if (seen[branch] < capture->counts[branch])
        throw Error("the capture of stream '" + stream.label +
                    "' ends, but it has not waited for the work of stream '" + capture->branches[branch]->label + "'");
    for (Stream *branch : capture->branches)
      branch->capture = nullptr;
  }
  auto graph = std::make_unique<Graph>();
  std::lock_guard lock(device.mutex);
  graph->device = &device;
  graph->branches = {nullptr};
  for (size_t branch = 1; branch < capture->branches.size(); ++branch)
    graph->branches.push_back(device.addStream(capture->branches[branch]->label));
  for (auto &[branch, item] : capture->work)
    if (item.event && !graph->events.count(item.event.get())) {
      auto event = std::make_shared<Event>();
      event->device = &device;
      graph->events[item.event.get()] = event;
    }
  graph->work = std::move(capture->work);
  DeviceGraph made{graph.get()};
  device.graphs[made.handle] = std::move(graph);
  return made;
}

void EmulatedDevice::abandonCapture(DeviceStream handle) noexcept {
  auto &stream = *static_cast<Stream *>(handle.handle);
  std::lock_guard lock(stream.device->mutex);
  std::shared_ptr<Capture> capture = stream.capture;
  if (capture)
    for (Stream *branch : capture->branches)
      branch->capture = nullptr;
}

void EmulatedDevice::launch(DeviceStream handle, DeviceGraph graphHandle) {
  auto &stream = *static_cast<Stream *>(handle.handle);
  auto &graph = *static_cast<Graph *>(graphHandle.handle);
  std::lock_guard lock(stream.device->mutex);
  for (const auto &[branch, item] : graph.work) {
    Work again = item;
    again.isOfGraph = true;
    if (item.event) {
      again.event = graph.events.at(item.event.get());
      again.number = item.kind == Work::Kind::Record ? ++again.event->recorded : again.event->recorded;
    }
    put(branch == 0 ? stream : *graph.branches[branch], std::move(again));
  }
}

void EmulatedDevice::destroy(DeviceGraph handle) noexcept {
  auto *graph = static_cast<Graph *>(handle.handle);
  if (!graph)
    return;
  Device &device = *graph->device;
  for (size_t branch = 1; branch < graph->branches.size(); ++branch)
    destroy(DeviceStream{graph->branches[branch]});
  std::lock_guard lock(device.mutex);
  device.graphs.erase(graph);
}
