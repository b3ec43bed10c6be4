//===- DeviceRehearsal.cpp - every kernel once, before anything waits ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CUDA loads a kernel's code when it is used first, and may wait for the whole device to do
// so (CUDA programming guide, "Lazy Loading": such programs may deadlock, unless they use
// their kernels once before). Libraries allocate and time in their first calls. With
// receives ahead of their messages on the device that would be for ever: the message is a
// peer's, which waits for what this rank computes.
//
// So every kind of call runs once: a kernel, at shapes and with attributes, which choose its
// code, at addresses of some alignment. The arena is zeros meanwhile, so that indices are
// valid, and NaN afterwards. Messages and collectives are not rehearsed: the transport has
// used each communicator once, and NCCL loads its kernels then.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/DeviceFailure.h"
#include "runtime/engine/DeviceRank.h"
#include "runtime/plan/Error.h"

#include <algorithm>

using namespace tgpt;
using namespace tgpt::runtime;

/// The largest power of two up to 256 of which an address is a multiple: what libraries choose by.
static uintptr_t alignmentOf(const void *address) {
  auto bits = reinterpret_cast<uintptr_t>(address) | 256;
  return bits & (~bits + 1);
}

static std::string textOf(std::span<const TensorView> operands) {
  std::string text;
  for (const TensorView &operand : operands) {
    text += " " + std::string(name(operand.dtype));
    for (int i = 0; i < operand.rank; ++i)
      text += "x" + std::to_string(operand.shape[static_cast<size_t>(i)]);
    text += "@" + std::to_string(alignmentOf(operand.data));
  }
  return text;
}

/// Equal for calls that run the same code.
std::string DeviceRank::kindOf(const DeviceSegment &segment, size_t index) const {
  const BoundInstruction &instruction = segment.bound->instructions[index];
  const FusedCalls *fusion = segment.fusedAt[index];
  KernelCall call = fusion ? fusion->call() : instruction.call;
  std::string text = fusion ? fusion->name : instruction.source->opcode();
  text += textOf(call.inputs) + " ->" + textOf(call.outputs);
  for (const plan::Attribute &attribute : instruction.source->attributes())
    text += " " + attribute.SerializeAsString();
  return text + " " + std::to_string(segment.workspaces[index].size());
}

void DeviceRank::rehearseEntry(const Entry &entry, std::set<std::string> &kinds,
                               const std::function<void()> &advanced) {
  const DeviceSegment &segment = *entry.segment;
  for (size_t i = 0; i < segment.bound->instructions.size(); ++i) {
    const BoundInstruction &instruction = segment.bound->instructions[i];
    if (instruction.source->kind() != plan::Instruction::KERNEL || segment.isLeftOut[i] ||
        !kinds.insert(kindOf(segment, i)).second)
      continue;
    place->set(instruction.segment, instruction.index);
    issueKernel(segment, static_cast<int>(i));
    if (request.options.waitsForEach)
      awaitRehearsed();
    advanced();
  }
}

/// Of a kernel that fails late it is known that it was rehearsed.
void DeviceRank::awaitRehearsed() {
  device.record(passed, compute);
  try {
    await(passed);
  } catch (const InstructionFailed &failed) {
    auto isOfSegment = [&](const Entry &entry) {
      const std::vector<BoundInstruction> &all = entry.segment->bound->instructions;
      return !all.empty() && all.front().segment == failed.segment;
    };
    auto entry = std::find_if(entries.begin(), entries.end(), isOfSegment);
    place->entry.store(entry - entries.begin(), std::memory_order_relaxed);
    place->set(failed.segment, failed.index);
    throw;
  } catch (const Error &error) {
    if (request.options.waitsForEach)
      throw;
    place->clear();
    throw Error(std::string(error.what()) + " (at some kernel of those that are rehearsed before the first step: add "
                                            "--device-sync to learn which)",
                error.details());
  }
}

void DeviceRank::rehearse(const std::function<void()> &advanced) {
  bool hasMailboxes =
      std::any_of(mailboxes.begin(), mailboxes.end(), [](const auto &mailbox) { return mailbox != nullptr; });
  if (std::exchange(hasRehearsed, true) || !hasMailboxes)
    return;
  device.select(number);
  device.fill(compute, memory.base(), 0, memory.bytes());
  device.fill(compute, fault.base(), 0, sizeof(int32_t));
  std::set<std::string> kinds;
  for (size_t i = 0; i < entries.size(); ++i) {
    place->entry.store(static_cast<int64_t>(i), std::memory_order_relaxed);
    rehearseEntry(entries[i], kinds, advanced);
  }
  device.fill(compute, memory.base(), 0xff, memory.bytes());
  awaitRehearsed();
}
