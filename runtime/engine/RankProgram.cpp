//===- RankProgram.cpp - a rank's instructions, resolved --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Binding happens once, at load. A segment is bound to a slot and pages when the
// schedule first names them together.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/RankProgram.h"
#include "runtime/engine/InstructionRunners.h"
#include "runtime/engine/PlanViews.h"
#include "runtime/kernels/api/ThreadClock.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/PlanText.h"
#include "runtime/trace/InstructionEvent.h"

#include <algorithm>
#include <array>
#include <chrono>

using namespace tgpt;
using namespace tgpt::runtime;

RankProgram::RankProgram(const BindingContext &context, int64_t rank, std::byte *arena, const RankEndpoints &endpoints,
                         SchedulePlace &place)
    : plan(context.plan), stage(context.plan.stages(static_cast<int>(context.grid.stageOf(rank)))), rank(rank),
      arena(arena), endpoints(endpoints), place(place) {
  for (int s = 0; s < stage.segments_size(); ++s)
    for (int i = 0; i < stage.segments(s).instructions_size(); ++i)
      attributes[{s, i}] = attributesOf(stage.segments(s).instructions(i), [&](const plan::AxisOffset &offset) {
        return context.grid.indexAlong(rank, offset.axes());
      });
  for (const plan::ScheduleEntry &entry : stage.schedule()) {
    int segment = static_cast<int>(entry.segment());
    SlotAndPages held = heldBy(entry);
    auto [bound, isNew] = segments.try_emplace({segment, held});
    if (isNew) {
      int count = stage.segments(segment).instructions_size();
      bound->second.instructions.reserve(count);
      flights.clear();
      for (int i = 0; i < count; ++i)
        bindInstruction(context, bound->second, segment, i, held);
    }
    schedule.push_back({&bound->second, entry.micro_batch()});
  }
}

std::span<const TensorView> RankProgram::viewsOf(const auto &buffers, SlotAndPages held) {
  views.push_back(std::make_unique<TensorView[]>(buffers.size()));
  TensorView *list = views.back().get();
  for (int i = 0; i < static_cast<int>(buffers.size()); ++i)
    list[i] = viewOf(stage.buffers(static_cast<int>(buffers[i])), addressOf(stage, buffers[i], held, arena));
  return {list, static_cast<size_t>(buffers.size())};
}

int RankProgram::profileEntryOf(const plan::Instruction &instruction, std::vector<ProfileEntry> &profile) {
  std::string text = eventName(instruction);
  auto found = std::find_if(profile.begin(), profile.end(), [&](const ProfileEntry &e) { return e.opcode == text; });
  if (found == profile.end())
    found = profile.insert(profile.end(), ProfileEntry{text});
  return static_cast<int>(found - profile.begin());
}

void RankProgram::bindKernel(const BindingContext &context, BoundInstruction &bound) {
  ResolvedKernel kernel = context.kernels.find(bound.source->opcode(), bound.call);
  std::string problem = !kernel.function ? "unknown kernel" : kernel.check ? kernel.check(bound.call) : "";
  if (!problem.empty())
    throw Error(context.grid.describe(rank) + ", " + instructionPlace(plan, stage, bound.segment, bound.index) + ": " +
                problem);
  bound.function = kernel.function;
  bound.libraryBytes = kernel.libraryBytes ? kernel.libraryBytes(bound.call) : 0;
}

/// What is started has communicators of its own: another thread may use them.
void RankProgram::bindExchange(BoundInstruction &bound) {
  const plan::Instruction &source = *bound.source;
  if (source.event() == 0) {
    bound.group = endpoints.groups[source.group()];
    return;
  }
  bound.group = endpoints.startedGroups[source.group()];
  bound.exchange = bound.run;
  bound.run = startRunner();
  bound.flight = static_cast<int>(flights.size());
  flights[source.event()] = bound.flight;
  startedBySegment = std::max(startedBySegment, bound.flight + 1);
  bound.startedEntry = profileEntryOf(source, startedProfile);
  startedProfile[bound.startedEntry].inFlight = true;
}

void RankProgram::bindInstruction(const BindingContext &context, BoundSegment &segment, int segmentIndex, int index,
                                  SlotAndPages held) {
  const plan::Instruction &source = stage.segments(segmentIndex).instructions(index);
  BoundInstruction bound;
  bound.run = runnerOf(source);
  bound.source = &source;
  bound.segment = segmentIndex;
  bound.index = index;
  bound.call.inputs = viewsOf(source.inputs(), held);
  bound.call.outputs = viewsOf(source.outputs(), held);
  if (source.has_workspace())
    bound.workspace = viewsOf(std::array{source.workspace()}, held);
  bound.call.attributes = &attributes[{segmentIndex, index}];
  bound.profileEntry = profileEntryOf(source, profile);
  if (source.kind() == plan::Instruction::KERNEL)
    bindKernel(context, bound);
  if (source.kind() >= plan::Instruction::ALL_REDUCE && source.kind() <= plan::Instruction::ALL_TO_ALL)
    bindExchange(bound);
  if (source.kind() == plan::Instruction::WAIT)
    bound.flight = flights.at(source.event());
  if (source.kind() == plan::Instruction::SEND)
    bound.sender = endpoints.senders[source.channel()];
  if (source.kind() == plan::Instruction::RECV) {
    bound.receiver = endpoints.receivers[source.channel()];
    bound.messages = viewsOf(plan.channels(static_cast<int>(source.channel())).receive_buffers(), {});
  }
  if (source.kind() == plan::Instruction::OUTPUT)
    bound.metric =
        static_cast<int>(std::lower_bound(context.metricNames.begin(), context.metricNames.end(), source.opcode()) -
                         context.metricNames.begin());
  segment.instructions.push_back(bound);
}

void RankProgram::measure(const BoundInstruction &instruction) {
  for (std::span<const TensorView> operands :
       {instruction.call.inputs, instruction.call.outputs, instruction.workspace, instruction.messages})
    for (const TensorView &operand : operands)
      touched = std::max<int64_t>(touched, operand.as<std::byte>() - arena + static_cast<int64_t>(operand.bytes()));
}

int64_t RankProgram::passedInStep() const {
  int64_t count = 0;
  for (const BoundEntry &entry : schedule)
    count += static_cast<int64_t>(entry.segment->instructions.size());
  return count;
}

int64_t RankProgram::startedInStep() const {
  int64_t count = 0;
  for (const BoundEntry &entry : schedule)
    count += std::count_if(entry.segment->instructions.begin(), entry.segment->instructions.end(),
                           [](const BoundInstruction &instruction) { return instruction.exchange != nullptr; });
  return count;
}

void tgpt::runtime::runTimed(InstructionRunner runner, const BoundInstruction &instruction, StepContext &context,
                             ProfileEntry &entry) {
  auto start = std::chrono::steady_clock::now();
  double cpuStart = threadCpuSeconds();
  runner(instruction, context);
  double cpuEnd = threadCpuSeconds();
  auto end = std::chrono::steady_clock::now();
  const plan::Cost &cost = instruction.source->cost();
  ++entry.calls;
  entry.seconds += std::chrono::duration<double>(end - start).count();
  entry.cpuSeconds += cpuEnd - cpuStart;
  entry.flops += static_cast<double>(cost.flops());
  entry.bytes += static_cast<double>(cost.bytes_read()) + static_cast<double>(cost.bytes_written());
}
