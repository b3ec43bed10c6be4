//===- ResidualNorms.cpp - norms with the sum beside them ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   add, layer_norm             z = x + y, then the norm of z. z is written too: the residual
//   add, rms_norm               goes on. y may be broadcast, as a table of positions is.
//   layer_norm_grad, add        dx + r, where nothing but the sum takes dx, which is then not
//   rms_norm_grad, add          written.
//
// The kernels (LayerNorm.cu, RmsNorm.cu) take the other operand of the sum behind the norm's
// own, and z behind its results. A block has whole rows, and a thread reads an element of
// every matrix before it writes one there: so a resulting matrix may lie just where one of
// the operands lies, as it does in plans whose first call had ended; never across it.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/fusion/CallGroup.h"

#include <algorithm>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

/// A call is looked for up to so many instructions further on.
static constexpr size_t mostDistance = 8;

namespace {
struct NormKernel {
  std::string_view name;
  bool isGradient;
};
} // namespace

static constexpr NormKernel norms[] = {
    {"layer_norm", false}, {"layer_norm_grad", true}, {"rms_norm", false}, {"rms_norm_grad", true}};

static const NormKernel *normOf(std::string_view kernel) {
  auto found = std::find_if(std::begin(norms), std::end(norms), [&](const NormKernel &n) { return n.name == kernel; });
  return found == std::end(norms) ? nullptr : found;
}

/// z = x + y and its norm, where `norm` reads what `sum` makes.
static bool joinSumAndNorm(const KernelCall &sum, const KernelCall &norm, CallGroup &group) {
  const TensorView &x = sum.inputs[0], &y = sum.inputs[1], &z = sum.outputs[0];
  int64_t width = norm.inputs[0].dim(-1);
  auto hasRows = [&](const TensorView &view) { return view.rank > 0 && view.dim(-1) == width; };
  if (!isSame(z, norm.inputs[0]) || !hasRows(x) || !hasRows(y))
    return false;
  group.inputs.assign(norm.inputs.begin(), norm.inputs.end());
  group.inputs[0].data = x.data; // in the norm's dimensions
  group.inputs.push_back(y);
  group.outputs.assign(norm.outputs.begin(), norm.outputs.end());
  group.outputs.push_back(z);
  group.attributes = *norm.attributes;
  return true;
}

/// dx + r, where `sum` alone takes what `gradient` makes.
static bool joinGradientAndSum(const PlannedCall &gradient, const KernelCall &sum, CallGroup &group) {
  const KernelCall &call = gradient.call;
  const TensorView &dx = call.outputs[0];
  size_t own = isSame(sum.inputs[0], dx) ? 0 : 1;
  const TensorView &other = sum.inputs[1 - own];
  if (!isSame(sum.inputs[own], dx) || isSame(other, dx) || other.elements() != dx.elements() ||
      gradient.isTakenOnce.empty() || !gradient.isTakenOnce[0])
    return false;
  group.inputs.assign(call.inputs.begin(), call.inputs.end());
  group.inputs.push_back(other);
  group.outputs.assign(call.outputs.begin(), call.outputs.end());
  group.outputs[0].data = sum.outputs[0].data;
  group.attributes = *call.attributes;
  return true;
}

static bool isJoinable(const PlannedCall &first, const PlannedCall &second, CallGroup &group) {
  if (const NormKernel *norm = normOf(first.kernel); norm && norm->isGradient)
    return second.kernel == "add" && joinGradientAndSum(first, second.call, group);
  const NormKernel *norm = normOf(second.kernel);
  return first.kernel == "add" && norm && !norm->isGradient && joinSumAndNorm(first.call, second.call, group);
}

std::vector<CallGroup> cuda::findResidualNorms(std::span<const PlannedCall> calls,
                                               std::span<const DeviceKernel> kernels, std::vector<bool> &isTaken) {
  std::vector<CallGroup> found;
  for (size_t i = 0; i < calls.size(); ++i)
    for (size_t j = i + 1; !isTaken[i] && j < std::min(calls.size(), i + 1 + mostDistance); ++j) {
      CallGroup group;
      if (isTaken[j] || !isJoinable(calls[i], calls[j], group))
        continue;
      if (!resultsLieWell(group, group.inputs[0]) || !mayMoveUp(calls, j, i))
        break;
      const NormKernel *norm = normOf(calls[i].kernel) ? normOf(calls[i].kernel) : normOf(calls[j].kernel);
      const DeviceKernel &kernel = kernelOf(kernels, norm->name);
      group.name = std::string(calls[i].kernel) + ", " + std::string(calls[j].kernel);
      group.calls = {i, j};
      group.function = kernel.entry.kernel.function;
      group.workspaceBytes = kernel.workspaceBytes ? kernel.workspaceBytes(group.call()) : 0;
      found.push_back(std::move(group));
      isTaken[i] = isTaken[j] = true;
    }
  return found;
}
