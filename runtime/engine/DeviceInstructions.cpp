//===- DeviceInstructions.cpp - how each kind goes into a stream ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One small function per instruction kind, and the table that selects it: what
// InstructionRunners.cpp is for ranks on the host.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/DeviceFailure.h"
#include "runtime/engine/DeviceRank.h"
#include "runtime/engine/InstructionRunners.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/PlanText.h"
#include "runtime/trace/InstructionEvent.h"

using namespace tgpt;
using namespace tgpt::runtime;

void DeviceRank::issue(const DeviceSegment &segment, int index) {
  using Kind = plan::Instruction;
  static constexpr Issue table[] = {
      nullptr,
      &DeviceRank::issueKernel,
      &DeviceRank::issueCollective, // ALL_REDUCE
      &DeviceRank::issueCollective, // ALL_GATHER
      &DeviceRank::issueCollective, // REDUCE_SCATTER
      &DeviceRank::issueCollective, // ALL_TO_ALL
      &DeviceRank::issueSend,
      &DeviceRank::issueReceive,
      &DeviceRank::issueInput,
      &DeviceRank::issueOutput,
      &DeviceRank::issueWait,
  };
  static_assert(std::size(table) == Kind::WAIT + 1);
  (this->*table[segment.bound->instructions[static_cast<size_t>(index)].source->kind()])(segment, index);
}

void DeviceRank::issueKernel(const DeviceSegment &segment, int index) {
  auto at = static_cast<size_t>(index);
  const BoundInstruction &instruction = segment.bound->instructions[at];
  if (segment.isLeftOut[at])
    return;
  const FusedCalls *fusion = segment.fusedAt[at];
  device.issueKernel(
      compute, instruction.source->opcode(), segment.accesses[at], [this, &segment, at, &instruction, fusion] {
        std::span<std::byte> workspace = segment.workspaces[at];
        backend.bindQueue({compute, workspace.data(), workspace.size(), reinterpret_cast<int32_t *>(fault.base()),
                           beside.base(), beside.bytes()});
        KernelStatus status = fusion ? fusion->function(fusion->call()) : instruction.function(instruction.call);
        if (!status.ok())
          throw InstructionFailed(instruction, status.error + companionsText(segment, at));
      });
}

/// " (in one call with instruction 13 (gelu, model.mlir:9:3 gelu))"; of many, the first, how many, and the last.
std::string DeviceRank::companionsText(const DeviceSegment &segment, size_t index) const {
  const FusedCalls *fusion = segment.fusedAt[index];
  if (!fusion)
    return "";
  auto placeOf = [&](size_t other) {
    return "instruction " + std::to_string(other) + " (" +
           instructionAndLocation(request.plan, *segment.bound->instructions[other].source) + ")";
  };
  size_t count = fusion->others.size();
  std::string text = " (in one call with " + placeOf(fusion->others.front());
  if (count > 2)
    text += ", " + std::to_string(count - 2) + " more";
  return text + (count > 1 ? " and " + placeOf(fusion->others.back()) : "") + ")";
}

/// Without streams for them, started collectives run where they are started.
DeviceStream DeviceRank::streamOf(const plan::Instruction &collective) const {
  if (collective.event() == 0 || !tensor)
    return compute;
  return collective.stream() == plan::Instruction::TENSOR ? tensor : data;
}

void DeviceRank::exchange(const BoundInstruction &instruction, DeviceCommunicator &group, DeviceStream stream) {
  const plan::Instruction &source = *instruction.source;
  const TensorView &input = instruction.call.inputs[0], &output = instruction.call.outputs[0];
  int dim = static_cast<int>(source.dim());
  switch (source.kind()) {
  case plan::Instruction::ALL_REDUCE: return group.allReduce(stream, input, output, reductionOf(source));
  case plan::Instruction::ALL_GATHER: return group.allGather(stream, input, output, dim);
  case plan::Instruction::REDUCE_SCATTER: return group.reduceScatter(stream, input, output, dim, reductionOf(source));
  default: return group.allToAll(stream, input, output, dim, static_cast<int>(source.dim2()));
  }
}

void DeviceRank::issueCollective(const DeviceSegment &segment, int index) {
  const BoundInstruction &instruction = segment.bound->instructions[static_cast<size_t>(index)];
  const plan::Instruction &source = *instruction.source;
  DeviceStream stream = streamOf(source);
  if (stream.handle == DeviceStream(compute).handle)
    return exchange(instruction, *(source.event() == 0 ? ends->groups : ends->startedGroups)[source.group()], stream);
  const Flight &flight = segment.flights[static_cast<size_t>(instruction.flight)];
  device.record(flight.begin, compute);
  device.wait(stream, flight.begin);
  exchange(instruction, *ends->startedGroups[source.group()], stream);
  device.record(flight.end, stream);
}

void DeviceRank::issueWait(const DeviceSegment &segment, int index) {
  if (tensor)
    device.wait(
        compute,
        segment.flights[static_cast<size_t>(segment.bound->instructions[static_cast<size_t>(index)].flight)].end);
}

void DeviceRank::issueSend(const DeviceSegment &segment, int index) {
  const BoundInstruction &instruction = segment.bound->instructions[static_cast<size_t>(index)];
  uint32_t channel = instruction.source->channel();
  const TensorView &message = instruction.call.inputs[0];
  const std::vector<TensorView> &own = ownMessages[channel];
  if (own.empty())
    return ends->senders[channel]->send(compute, message);
  const TensorView &buffer = own[static_cast<size_t>(sentToItself[channel]++) % own.size()];
  device.copy(compute, buffer.data, message.data, message.bytes());
}

void DeviceRank::issueReceive(const DeviceSegment &segment, int index) {
  const BoundInstruction &instruction = segment.bound->instructions[static_cast<size_t>(index)];
  uint32_t channel = instruction.source->channel();
  const TensorView &message = instruction.call.outputs[0];
  const std::vector<TensorView> &own = ownMessages[channel];
  if (mailboxes[channel])
    return mailboxes[channel]->take(compute, message);
  if (own.empty()) // a rendezvous: there is no message buffer
    return ends->receivers[channel]->receive(compute, message);
  const TensorView &buffer = own[static_cast<size_t>(receivedFromItself[channel]++) % own.size()];
  device.copy(compute, message.data, buffer.data, message.bytes());
}

void DeviceRank::issueInput(const DeviceSegment &segment, int index) {
  const TensorView &input = segment.bound->instructions[static_cast<size_t>(index)].call.outputs[0];
  device.copy(compute, input.data, inputs.base() + segment.inputBase + segment.inputs[static_cast<size_t>(index)],
              input.bytes());
}

void DeviceRank::issueOutput(const DeviceSegment &segment, int index) {
  const BoundInstruction &instruction = segment.bound->instructions[static_cast<size_t>(index)];
  const TensorView &output = instruction.call.inputs[0];
  device.copy(compute, metrics[static_cast<size_t>(instruction.metric)].view.data, output.data, output.bytes());
}
