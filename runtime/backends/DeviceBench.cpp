//===- DeviceBench.cpp - the time of kernel calls on a device ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/backends/DeviceBench.h"
#include "runtime/kernels/bench/CallOperands.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <chrono>
#include <limits>

using namespace tgpt::runtime;

/// What one launch of a graph should take, and the calls that it has at most.
static constexpr double launchSeconds = 2e-3;
static constexpr int mostRepeats = 64;
/// Workspace of a product: what a plan gives it on Hopper.
static constexpr size_t productBytes = size_t(32) << 20;

namespace {
/// A workload's operands in device memory.
class DeviceOperands {
public:
  DeviceOperands(DeviceRuntime &device, const Workload &workload) : device(device), workload(workload) {
    for (const OperandShape &operand : workload.inputs)
      inputs.push_back(add(operand));
    for (const OperandShape &operand : workload.outputs)
      outputs.push_back(add(operand));
  }

  KernelCall call() const { return {inputs, outputs, &workload.attributes}; }
  std::vector<DeviceAccess> accesses() const {
    std::vector<DeviceAccess> result;
    for (const TensorView &view : inputs)
      result.push_back({view.data, view.bytes(), false});
    for (const TensorView &view : outputs)
      result.push_back({view.data, view.bytes(), true});
    return result;
  }

private:
  /// The values of CallOperands, some of them over and over.
  TensorView add(const OperandShape &operand) {
    constexpr int64_t mostElements = 1 << 18;
    TensorView view = viewOf(operand);
    memory.emplace_back(device, DeviceBlock::Where::Device, view.bytes());
    view.data = memory.back().base();
    TensorView piece = view;
    piece.rank = 1;
    piece.shape[0] = std::min(view.elements(), mostElements);
    std::vector<std::byte> values(piece.bytes());
    piece.data = values.data();
    fillWithValues(piece);
    for (size_t at = 0; at < view.bytes(); at += values.size())
      device.copyNow(memory.back().base() + at, values.data(), std::min(values.size(), view.bytes() - at));
    return view;
  }

  DeviceRuntime &device;
  const Workload &workload;
  std::vector<DeviceBlock> memory;
  std::vector<TensorView> inputs, outputs;
};
} // namespace

DeviceBench::DeviceBench(std::shared_ptr<const DeviceBackend> given, int number)
    : backend(std::move(given)), device(*backend->device), number(number) {
  device.select(number);
  stream = OwnedStream(device, device.createStream("bench"));
}

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double DeviceBench::bestSeconds(const std::function<void()> &issue, double budgetSeconds) {
  auto timed = [&](const std::function<void()> &work) {
    double begin = now();
    work();
    device.synchronize(stream);
    return now() - begin;
  };
  timed(issue); // libraries set themselves up
  double once = timed(issue);
  int repeats = std::clamp(static_cast<int>(launchSeconds / once), 1, mostRepeats);
  device.beginCapture(stream);
  OwnedGraph graph;
  try {
    for (int i = 0; i < repeats; ++i)
      issue();
    graph = OwnedGraph(device, device.endCapture(stream));
  } catch (...) {
    device.abandonCapture(stream);
    throw;
  }
  double best = std::numeric_limits<double>::infinity(), total = 0;
  for (int runs = 0; runs < 3 || total < budgetSeconds; ++runs) {
    double seconds = timed([&] { device.launch(stream, graph); });
    best = std::min(best, seconds / repeats);
    total += seconds;
  }
  return best;
}

double DeviceBench::secondsOf(const Workload &workload, double budgetSeconds) {
  DeviceOperands operands(device, workload);
  KernelCall call = operands.call();
  ResolvedKernel kernel = backend->kernels.find(workload.kernel, call);
  if (!kernel.function)
    throw Error("no kernel " + workload.kernel + " in " + backend->kernels.name);
  if (std::string wrong = kernel.check ? kernel.check(call) : ""; !wrong.empty())
    throw Error(workload.kernel + ": " + wrong);
  size_t needed = kernel.workspaceBytes ? kernel.workspaceBytes(call) : 0;
  bool isProduct = workload.kernel.starts_with("linear");
  DeviceBlock workspace(device, DeviceBlock::Where::Device, isProduct ? std::max(needed, productBytes) : needed);
  DeviceBlock beside(device, DeviceBlock::Where::Device, kernel.libraryBytes ? kernel.libraryBytes(call) : 0);
  DeviceBlock fault(device, DeviceBlock::Where::Device, sizeof(int32_t));
  device.fill(stream, fault.base(), 0, fault.bytes());
  std::vector<DeviceAccess> accesses = operands.accesses();
  accesses.push_back({workspace.base(), workspace.bytes(), true});
  accesses.push_back({beside.base(), beside.bytes(), true});
  double seconds = bestSeconds(
      [&] {
        device.issue(stream, workload.kernel, accesses, [&] {
          backend->bindQueue({stream, workspace.base(), workspace.bytes(), reinterpret_cast<int32_t *>(fault.base()),
                              beside.base(), beside.bytes()});
          if (KernelStatus status = kernel.function(call); !status.ok())
            throw Error(workload.kernel + ": " + status.error);
        });
      },
      budgetSeconds);
  int32_t found = 0;
  device.copyNow(&found, fault.base(), sizeof(found));
  if (const char *text = backend->describeFault(found))
    throw Error(text);
  return seconds;
}

double DeviceBench::copyBytesPerSecond(size_t bytes, double budgetSeconds) {
  DeviceBlock from(device, DeviceBlock::Where::Device, bytes), to(device, DeviceBlock::Where::Device, bytes);
  device.fill(stream, from.base(), 1, bytes);
  double seconds = bestSeconds([&] { device.copy(stream, to.base(), from.base(), bytes); }, budgetSeconds);
  return 2 * static_cast<double>(bytes) / seconds;
}
