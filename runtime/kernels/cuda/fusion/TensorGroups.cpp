//===- TensorGroups.cpp - many tensors in a launch ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An update has a call for each parameter, and a step begins with one for each gradient.
// Those of one kernel that differ in their tensors alone become one call, which the kernel
// does in launches of as many tensors as an argument holds (TensorBatch.h):
//
//   adamw        with the `cast` behind each, where there is one for each
//   sum_squares  without `chunks`
//   fill
//
// Calls between them stay behind, as long as order allows it: so the parameters with weight
// decay, and those without, are a group each. A collective or a message between would begin
// later than planned, so a group ends there.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/fusion/CallGroup.h"

#include <algorithm>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

/// Instructions that a group looks past for more of its kind.
static constexpr size_t mostPassed = 1024;

namespace {
struct GroupedKernel {
  std::string_view name;
  size_t inputsEach; // the others, behind them, are the same for all
  std::vector<std::string_view> attributes;
};

/// Calls that one call may do, as they are found.
class Gathering {
public:
  Gathering(const GroupedKernel &kernel, std::span<const PlannedCall> calls, const std::vector<bool> &isTaken,
            size_t first)
      : kernel(kernel), calls(calls), isTaken(isTaken), first(first) {
    isCasting = castBehind(first);
    join(first);
  }

  /// Takes call `i`, and the cast behind it, where that may be: else it stays behind. How many calls it took.
  size_t take(size_t i) {
    bool isOne = !isTaken[i] && calls[i].kernel == kernel.name && isAlike(calls[i].call) &&
                 touched.commutesWith(calls[i].call) && castBehind(i) == isCasting &&
                 (!isCasting || touched.commutesWith(withoutInputs(calls[i + 1].call)));
    if (isOne)
      return join(i);
    touched.add(calls[i].call);
    return 0;
  }

  CallGroup group() const;
  const std::vector<size_t> &taken() const { return members; }

private:
  static KernelCall withoutInputs(const KernelCall &call) { return {{}, call.outputs, call.attributes}; }

  bool isAlike(const KernelCall &call) const {
    const KernelCall &model = calls[first].call;
    for (size_t i = kernel.inputsEach; i < model.inputs.size(); ++i)
      if (!isSame(call.inputs[i], model.inputs[i]))
        return false;
    return call.outputs[0].dtype == model.outputs[0].dtype && call.attributes->integer("chunks") == 0 &&
           std::all_of(kernel.attributes.begin(), kernel.attributes.end(), [&](std::string_view name) {
             return call.attributes->real(name) == model.attributes->real(name);
           });
  }

  /// Whether the next call rounds the parameter that `i` makes, and nothing that it touches.
  bool castBehind(size_t i) const {
    if (kernel.name != "adamw" || i + 1 >= calls.size() || calls[i + 1].kernel != "cast" || isTaken[i + 1])
      return false;
    const KernelCall &update = calls[i].call, &cast = calls[i + 1].call;
    DType to = cast.outputs[0].dtype;
    return isSame(cast.inputs[0], update.outputs[0]) && update.outputs[0].dtype == DType::F32 &&
           (to == DType::BF16 || to == DType::F16) && (!isCasting || to == calls[first + 1].call.outputs[0].dtype) &&
           !overlapAny(cast.outputs[0], update.inputs) && !overlapAny(cast.outputs[0], update.outputs);
  }

  size_t join(size_t i) {
    size_t count = isCasting ? 2 : 1;
    for (size_t k = 0; k < count; ++k) {
      members.push_back(i + k);
      touched.add(calls[i + k].call);
    }
    return count;
  }

  const GroupedKernel &kernel;
  std::span<const PlannedCall> calls;
  const std::vector<bool> &isTaken;
  size_t first;
  bool isCasting = false;
  std::vector<size_t> members;
  TouchedBytes touched; // by calls that stay behind, and by those taken
};
} // namespace

CallGroup Gathering::group() const {
  CallGroup group;
  group.name = isCasting ? "adamw, cast" : std::string(kernel.name);
  group.calls = members;
  group.attributes = *calls[first].call.attributes;
  for (size_t i : members) {
    const KernelCall &call = calls[i].call;
    if (calls[i].kernel == kernel.name)
      group.inputs.insert(group.inputs.end(), call.inputs.begin(), call.inputs.begin() + kernel.inputsEach);
    group.outputs.insert(group.outputs.end(), call.outputs.begin(), call.outputs.end());
  }
  std::span<const TensorView> shared = calls[first].call.inputs.subspan(kernel.inputsEach);
  group.inputs.insert(group.inputs.end(), shared.begin(), shared.end());
  return group;
}

static const GroupedKernel *groupedKernel(const PlannedCall &call) {
  static const GroupedKernel kernels[] = {
      {"adamw", 4, {"beta1", "beta2", "epsilon", "weight_decay"}}, {"sum_squares", 1, {}}, {"fill", 0, {"value"}}};
  auto found = std::find_if(std::begin(kernels), std::end(kernels),
                            [&](const GroupedKernel &kernel) { return kernel.name == call.kernel; });
  return found == std::end(kernels) || call.call.attributes->integer("chunks") > 0 ? nullptr : found;
}

std::vector<CallGroup> cuda::findTensorGroups(std::span<const PlannedCall> calls, std::span<const DeviceKernel> kernels,
                                              std::vector<bool> &isTaken) {
  std::vector<CallGroup> found;
  for (size_t first = 0; first < calls.size(); ++first) {
    const GroupedKernel *kernel = isTaken[first] ? nullptr : groupedKernel(calls[first]);
    if (!kernel)
      continue;
    Gathering gathering(*kernel, calls, isTaken, first);
    size_t next = gathering.taken().back() + 1;
    for (size_t passed = 0; next < calls.size() && !calls[next].kernel.empty() && passed < mostPassed;) {
      size_t taken = gathering.take(next);
      passed += taken == 0;
      next += std::max<size_t>(taken, 1);
    }
    if (gathering.taken().size() < 2)
      continue;
    CallGroup group = gathering.group();
    const DeviceKernel &device = kernelOf(kernels, kernel->name);
    group.function = device.entry.kernel.function;
    group.workspaceBytes = device.workspaceBytes ? device.workspaceBytes(group.call()) : 0;
    for (size_t i : group.calls)
      isTaken[i] = true;
    found.push_back(std::move(group));
  }
  return found;
}
