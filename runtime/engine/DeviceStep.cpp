//===- DeviceStep.cpp - a rank's step on its device -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The thread issues the whole step, then follows the device through it.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/DeviceFailure.h"
#include "runtime/engine/DeviceRank.h"
#include "runtime/engine/Scalar.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <chrono>
#include <thread>

using namespace tgpt;
using namespace tgpt::runtime;

/// Looks at the device without a pause so many times, then with one.
static constexpr int busyLooks = 100;
static constexpr auto lookPause = std::chrono::microseconds(50);

void DeviceRank::runStep(StepContext &context, bool profiling, const std::function<void()> &advanced) {
  device.select(number);
  std::fill(sentToItself.begin(), sentToItself.end(), 0);
  std::fill(receivedFromItself.begin(), receivedFromItself.end(), 0);
  for (Metric &metric : metrics)
    metric.isReported = false;
  if (request.options.usesGraphs && !request.options.waitsForEach)
    captureSegments(context, advanced);
  device.fill(compute, fault.base(), 0, sizeof(int32_t));
  for (const std::unique_ptr<DeviceMailbox> &mailbox : mailboxes)
    if (mailbox)
      mailbox->beginStep();
  auto count = static_cast<int64_t>(entries.size());
  for (context.entry = 0; context.entry < count; ++context.entry)
    issueEntry(context.entry, context, profiling, advanced);
  for (int64_t number = 0; number < count; ++number)
    finishEntry(number, advanced);
  collectMetrics(context);
  place->end();
}

/// The last OUTPUT of a step counts.
void DeviceRank::report(Metric &metric, const BoundInstruction &output) {
  metric.isReported = true;
  metric.view.dtype = output.call.inputs[0].dtype;
}

void DeviceRank::issueEntry(int64_t number, StepContext &context, bool profiling,
                            const std::function<void()> &advanced) {
  Entry &entry = entries[static_cast<size_t>(number)];
  DeviceSegment &segment = *entry.segment;
  context.microBatch = entry.microBatch;
  place->entry.store(number, std::memory_order_relaxed);
  fillInputs(entry, context);
  for (Piece &piece : segment.pieces)
    if (piece.graph)
      replay(piece, segment, advanced);
    else
      issuePlainly(segment, piece.begin, piece.end, context, profiling, advanced);
  ++segment.runs;
  for (const BoundInstruction &instruction : segment.bound->instructions)
    if (instruction.source->kind() == plan::Instruction::OUTPUT)
      report(metrics[static_cast<size_t>(instruction.metric)], instruction);
  device.copy(compute, pinnedFaults.base() + static_cast<size_t>(number) * sizeof(int32_t), fault.base(),
              sizeof(int32_t));
  device.record(entry.done, compute);
}

void DeviceRank::fillInputs(const Entry &entry, StepContext &context) {
  const DeviceSegment &segment = *entry.segment;
  if (segment.inputBytes == 0)
    return;
  device.touch(pinnedInputs.base() + entry.inputBase, segment.inputBytes, true);
  for (size_t i = 0; i < segment.inputs.size(); ++i) {
    if (segment.inputs[i] == noInput)
      continue;
    const BoundInstruction &instruction = segment.bound->instructions[i];
    place->set(instruction.segment, instruction.index);
    TensorView pinned = instruction.call.outputs[0];
    pinned.data = pinnedInputs.base() + entry.inputBase + segment.inputs[i];
    if (instruction.source->opcode() == "micro_batch") // what the engine knows itself
      storeElement(pinned, static_cast<double>(context.microBatch));
    else
      context.inputs->fill(instruction.source->opcode(), context.dpIndex, context.microBatch, pinned);
  }
  device.copy(compute, inputs.base() + segment.inputBase, pinnedInputs.base() + entry.inputBase, segment.inputBytes);
}

static void addTime(ProfileEntry &entry, const BoundInstruction &instruction, int64_t nanoseconds) {
  const plan::Cost &cost = instruction.source->cost();
  ++entry.calls;
  entry.seconds += static_cast<double>(nanoseconds) * 1e-9;
  entry.flops += static_cast<double>(cost.flops());
  entry.bytes += static_cast<double>(cost.bytes_read()) + static_cast<double>(cost.bytes_written());
}

void DeviceRank::issuePlainly(DeviceSegment &segment, int begin, int end, StepContext &context, bool profiling,
                              const std::function<void()> &advanced) {
  for (int i = begin; i < end; ++i) {
    const BoundInstruction &instruction = segment.bound->instructions[static_cast<size_t>(i)];
    place->set(instruction.segment, instruction.index);
    int64_t start = eventNanoseconds();
    issue(segment, i);
    if (request.options.waitsForEach)
      awaitInstruction(segment, instruction);
    if (profiling)
      addTime(program->profile[static_cast<size_t>(instruction.profileEntry)], instruction, eventNanoseconds() - start);
    if (context.events)
      context.events->add(context.entry, instruction.index, start);
    if (segment.runs == 0)
      program->measure(instruction);
    advanced();
  }
}

/// All at once, before anything of the step waits for another rank: a graph takes memory of the device.
void DeviceRank::captureSegments(StepContext &context, const std::function<void()> &advanced) {
  for (context.entry = 0; context.entry < static_cast<int64_t>(entries.size()); ++context.entry) {
    const Entry &entry = entries[static_cast<size_t>(context.entry)];
    for (Piece &piece : entry.segment->pieces)
      if (piece.isCapturable && !piece.graph && entry.segment->runs > 0) {
        context.microBatch = entry.microBatch;
        place->entry.store(context.entry, std::memory_order_relaxed);
        capture(piece, *entry.segment, context, advanced);
      }
  }
}

void DeviceRank::capture(Piece &piece, DeviceSegment &segment, StepContext &context,
                         const std::function<void()> &advanced) {
  const BoundInstruction &first = segment.bound->instructions[static_cast<size_t>(piece.begin)];
  place->set(first.segment, first.index);
  device.beginCapture(compute);
  isCapturing = true; // settle() ends it where this fails
  issuePlainly(segment, piece.begin, piece.end, context, false, advanced);
  place->set(first.segment, first.index);
  piece.graph = OwnedGraph(device, device.endCapture(compute));
  isCapturing = false;
}

void DeviceRank::replay(Piece &piece, const DeviceSegment &segment, const std::function<void()> &advanced) {
  const BoundInstruction &first = segment.bound->instructions[static_cast<size_t>(piece.begin)];
  place->set(first.segment, first.index);
  device.launch(compute, piece.graph);
  ++replays;
  advanced();
}

void DeviceRank::await(DeviceEvent event) {
  for (int looks = 0; !device.isDone(event); ++looks) {
    transport->check(request.rank);
    if (request.isAborted())
      throw JobAborted();
    if (looks >= busyLooks)
      std::this_thread::sleep_for(lookPause);
    else
      std::this_thread::yield();
  }
}

/// The stream of a started collective too: then its end is this instruction's.
void DeviceRank::awaitInstruction(const DeviceSegment &segment, const BoundInstruction &instruction) {
  if (instruction.exchange && tensor)
    await(segment.flights[static_cast<size_t>(instruction.flight)].end);
  std::byte *noted = pinnedFaults.base() + entries.size() * sizeof(int32_t);
  device.copy(compute, noted, fault.base(), sizeof(int32_t));
  device.record(passed, compute);
  try {
    await(passed);
  } catch (const InstructionFailed &) {
    throw;
  } catch (const Error &error) {
    throw Error(error.what() + companionsText(segment, static_cast<size_t>(instruction.index)), error.details());
  }
  device.touch(noted, sizeof(int32_t), false);
  if (int32_t found = *reinterpret_cast<const int32_t *>(noted))
    throw Error(backend.describeFault(found));
}

/// The kernel that left it is the segment's first of the name that the text begins with.
void DeviceRank::throwFault(int32_t found, const DeviceSegment &segment) {
  std::string text = backend.describeFault(found);
  for (const BoundInstruction &instruction : segment.bound->instructions)
    if (text.compare(0, text.find(':'), instruction.source->opcode()) == 0) {
      place->set(instruction.segment, instruction.index);
      break;
    }
  throw Error(text);
}

void DeviceRank::finishEntry(int64_t number, const std::function<void()> &advanced) {
  const Entry &entry = entries[static_cast<size_t>(number)];
  const DeviceSegment &segment = *entry.segment;
  place->entry.store(number, std::memory_order_relaxed);
  if (!segment.bound->instructions.empty())
    place->set(segment.bound->instructions.front().segment, 0);
  try {
    await(entry.done);
  } catch (const InstructionFailed &failed) {
    place->set(failed.segment, failed.index);
    throw;
  } catch (const Error &error) {
    throw Error(std::string(error.what()) + " (at some instruction of this segment, or of one that follows: add "
                                            "--device-sync to learn which)",
                error.details());
  }
  const std::byte *noted = pinnedFaults.base() + static_cast<size_t>(number) * sizeof(int32_t);
  device.touch(noted, sizeof(int32_t), false);
  if (int32_t found = *reinterpret_cast<const int32_t *>(noted))
    throwFault(found, segment);
  advanced();
}

void DeviceRank::collectMetrics(StepContext &context) {
  for (size_t m = 0; m < metrics.size(); ++m)
    if (metrics[m].isReported) {
      device.touch(metrics[m].view.data, metrics[m].view.bytes(), false);
      context.metrics[m] = {loadElement(metrics[m].view), true};
    }
}
