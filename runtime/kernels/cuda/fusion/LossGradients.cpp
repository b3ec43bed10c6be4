//===- LossGradients.cpp - the loss with its gradient -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   cross_entropy, cross_entropy_grad    of the same logits, labels and lse
//
// The kernel (CrossEntropy.cu) takes dloss behind the loss's operands, and dlogits behind its
// results. A block has a row, and reads an element for the last time before it writes one
// there: so dlogits may lie on the logits.
//
// Over ranks that share a vocabulary, token_loss and cross_entropy_grad stay two: token_loss
// reads no logits, and of what the gradient reads together they would save the lse alone, 4
// bytes of the 4 v that a token's row of v columns has in bf16.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/fusion/CallGroup.h"

#include <algorithm>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

/// A gradient is looked for up to so many instructions behind its loss.
static constexpr size_t mostInstructionsBehind = 8;

/// Whether both mean the same rows, terms and columns, all of them here.
static bool haveOneLoss(const KernelCall &loss, const KernelCall &gradient) {
  const Attributes &a = *loss.attributes, &b = *gradient.attributes;
  int64_t width = loss.inputs[0].dim(-1);
  return isSame(loss.inputs[0], gradient.inputs[0]) && gradient.inputs[0].dim(-1) == width &&
         isSame(loss.inputs[1], gradient.inputs[1]) && isSame(loss.outputs[2], gradient.inputs[2]) &&
         b.integer("vocab_offset") == 0 && a.integer("vocabulary", width) == b.integer("vocabulary", width) &&
         a.real("label_smoothing") == b.real("label_smoothing") && a.real("z_loss") == b.real("z_loss");
}

static CallGroup joined(const KernelCall &loss, const KernelCall &gradient) {
  CallGroup group;
  group.name = "cross_entropy, cross_entropy_grad";
  group.inputs.assign(loss.inputs.begin(), loss.inputs.end());
  group.inputs.push_back(gradient.inputs[3]);
  group.outputs.assign(loss.outputs.begin(), loss.outputs.end());
  group.outputs.push_back(gradient.outputs[0]);
  group.attributes = *gradient.attributes;
  return group;
}

std::vector<CallGroup> cuda::findLossGradients(std::span<const PlannedCall> calls,
                                               std::span<const DeviceKernel> kernels, std::vector<bool> &isTaken) {
  std::vector<CallGroup> found;
  for (size_t i = 0; i < calls.size(); ++i)
    for (size_t j = i + 1; calls[i].kernel == "cross_entropy" && !isTaken[i] &&
                           j < std::min(calls.size(), i + 1 + mostInstructionsBehind);
         ++j) {
      if (isTaken[j] || calls[j].kernel != "cross_entropy_grad" || !haveOneLoss(calls[i].call, calls[j].call))
        continue;
      CallGroup group = joined(calls[i].call, calls[j].call);
      if (!resultsLieWell(group) || !mayMoveUp(calls, j, i))
        break;
      const DeviceKernel &kernel = kernelOf(kernels, "cross_entropy");
      group.calls = {i, j};
      group.function = kernel.entry.kernel.function;
      group.workspaceBytes = kernel.workspaceBytes(group.call());
      found.push_back(std::move(group));
      isTaken[i] = isTaken[j] = true;
    }
  return found;
}
