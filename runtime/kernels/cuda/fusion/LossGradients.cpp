//===- LossGradients.cpp - the loss with its gradient -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   cross_entropy, cross_entropy_grad    of the same logits, labels and lse
//   token_loss, cross_entropy_grad       of the same labels and lse
//
// The kernels (CrossEntropy.cu, VocabularyParallelLoss.cu) take behind the loss's operands what
// the gradient reads besides (dloss; token_loss the logits as well), and dlogits behind its
// results. A block has a row, and reads an element for the last time before it writes one
// there: so dlogits may lie on the logits. The loss of whole rows saves a read of the logits.
// token_loss reads none: over ranks that share a vocabulary a launch is saved, in which a device
// would have a few numbers a token to do.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/fusion/CallGroup.h"

#include <algorithm>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

/// A gradient is looked for up to so many instructions behind its loss.
static constexpr size_t mostInstructionsBehind = 8;

static bool isLoss(std::string_view kernel) {
  return kernel == "cross_entropy" || kernel == "token_loss";
}

/// Whether the gradient is of all columns of the loss's logits.
static bool haveOneVocabulary(const KernelCall &loss, const KernelCall &gradient) {
  const Attributes &a = *loss.attributes, &b = *gradient.attributes;
  int64_t width = loss.inputs[0].dim(-1);
  return isSame(loss.inputs[0], gradient.inputs[0]) && gradient.inputs[0].dim(-1) == width &&
         b.integer("vocab_offset") == 0 && a.integer("vocabulary", width) == b.integer("vocabulary", width);
}

/// Whether both mean the same rows and terms; `labels` is the number of the loss's operand.
static bool haveOneLoss(const KernelCall &loss, size_t labels, const KernelCall &gradient) {
  const Attributes &a = *loss.attributes, &b = *gradient.attributes;
  return isSame(loss.inputs[labels], gradient.inputs[1]) && isSame(loss.outputs[2], gradient.inputs[2]) &&
         a.real("label_smoothing") == b.real("label_smoothing") && a.real("z_loss") == b.real("z_loss");
}

static bool mayJoin(const PlannedCall &loss, const PlannedCall &gradient) {
  if (gradient.kernel != "cross_entropy_grad")
    return false;
  bool hasLogits = loss.kernel == "cross_entropy";
  return haveOneLoss(loss.call, hasLogits ? 1 : 0, gradient.call) &&
         (!hasLogits || haveOneVocabulary(loss.call, gradient.call));
}

/// The columns are those of the gradient, the chunks of the tokens those of the loss.
static CallGroup joined(const PlannedCall &loss, const KernelCall &gradient) {
  CallGroup group;
  group.name = std::string(loss.kernel) + ", cross_entropy_grad";
  group.inputs.assign(loss.call.inputs.begin(), loss.call.inputs.end());
  if (loss.kernel == "token_loss")
    group.inputs.push_back(gradient.inputs[0]);
  group.inputs.push_back(gradient.inputs[3]);
  group.outputs.assign(loss.call.outputs.begin(), loss.call.outputs.end());
  group.outputs.push_back(gradient.outputs[0]);
  group.attributes = *gradient.attributes;
  for (const char *name : {"chunks", "parts", "part"})
    if (int64_t value = loss.call.attributes->integer(name))
      group.attributes.set(name, value);
  return group;
}

std::vector<CallGroup> cuda::findLossGradients(std::span<const PlannedCall> calls,
                                               std::span<const DeviceKernel> kernels, std::vector<bool> &isTaken) {
  std::vector<CallGroup> found;
  for (size_t i = 0; i < calls.size(); ++i)
    for (size_t j = i + 1;
         isLoss(calls[i].kernel) && !isTaken[i] && j < std::min(calls.size(), i + 1 + mostInstructionsBehind); ++j) {
      if (isTaken[j] || !mayJoin(calls[i], calls[j]))
        continue;
      CallGroup group = joined(calls[i], calls[j].call);
      if (!resultsLieWell(group, calls[j].call.inputs[0]) || !mayMoveUp(calls, j, i))
        break;
      const DeviceKernel &kernel = kernelOf(kernels, calls[i].kernel);
      group.calls = {i, j};
      group.function = kernel.entry.kernel.function;
      group.workspaceBytes = kernel.workspaceBytes(group.call());
      found.push_back(std::move(group));
      isTaken[i] = isTaken[j] = true;
    }
  return found;
}
