//===- CommunicationReport.cpp - what the ranks of a plan exchange ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adds up the collectives and sends of each stage's schedule; the text and JSON forms
// are in CommunicationReportText.cpp.
//
//===----------------------------------------------------------------------===//

#include "compiler/report/CommunicationReport.h"
#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/PlanText.h"
#include "runtime/plan/RankGrid.h"
#include <algorithm>

using namespace tgpt;
using plan::Instruction;

/// Payloads that leave a rank per payload of a call; see Exchange::sentBytes.
static double sentShare(Instruction::Kind kind, int64_t ranks) {
  double others = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  switch (kind) {
  case Instruction::ALL_REDUCE: return 2 * others;
  case Instruction::SEND: return ranks > 1 ? 1 : 0;
  default: return others;
  }
}

static bool isExchange(const Instruction &instruction) {
  return (instruction.kind() >= Instruction::ALL_REDUCE && instruction.kind() <= Instruction::ALL_TO_ALL) ||
         instruction.kind() == Instruction::SEND;
}

namespace {

/// Counts the exchanges of one stage.
class StageExchanges {
public:
  StageExchanges(const plan::Plan &plan, const plan::StageProgram &stage)
      : plan(plan), stage(stage), grid(plan.mesh()) {
    std::vector<int64_t> runs(stage.segments_size(), 0);
    for (const plan::ScheduleEntry &entry : stage.schedule())
      ++runs[entry.segment()];
    for (int s = 0; s < stage.segments_size(); ++s)
      for (const Instruction &instruction : stage.segments(s).instructions())
        if (isExchange(instruction))
          add(instruction, stage.segments(s).kind(), runs[s]);
    std::stable_sort(exchanges.begin(), exchanges.end(),
                     [](const Exchange &a, const Exchange &b) { return placeOf(a.segment) < placeOf(b.segment); });
  }

  std::vector<Exchange> exchanges;

private:
  void add(const Instruction &instruction, plan::Segment::Kind segment, int64_t runs) {
    Exchange exchange = describe(instruction);
    exchange.segment = segment;
    auto found = std::find_if(exchanges.begin(), exchanges.end(), [&](const Exchange &other) {
      return other.segment == segment && other.what == exchange.what && other.with == exchange.with;
    });
    if (found == exchanges.end())
      found = exchanges.insert(exchanges.end(), exchange);
    int64_t payload = std::max(bytesOf(instruction.inputs()), bytesOf(instruction.outputs()));
    found->calls += runs;
    found->payloadBytes += runs * payload;
    double sent = static_cast<double>(runs * payload) * sentShare(instruction.kind(), exchange.ranks);
    found->sentBytes += sent;
    if (instruction.event() != 0)
      found->overlappedBytes += sent;
  }

  /// Where a segment of the kind comes in a step.
  static int placeOf(plan::Segment::Kind kind) {
    return kind == plan::Segment::UPDATE ? plan::Segment::WEIGHT_GRADIENT + 1 : kind;
  }

  Exchange describe(const Instruction &instruction) const {
    Exchange exchange;
    exchange.stage = stage.stage();
    exchange.what = runtime::instructionText(instruction);
    if (instruction.kind() == Instruction::SEND) {
      bool isAlone = instruction.peer_stage() == stage.stage(); // from chunk to chunk
      exchange.with = isAlone ? "itself" : "stage " + std::to_string(instruction.peer_stage());
      exchange.ranks = isAlone ? 1 : 2;
      return exchange;
    }
    const plan::Group &group = plan.groups(static_cast<int>(instruction.group()));
    for (const std::string &axis : group.axes())
      exchange.with += (exchange.with.empty() ? "" : " ") + axis;
    exchange.ranks = groupSize(grid, group);
    return exchange;
  }

  int64_t bytesOf(const google::protobuf::RepeatedField<uint32_t> &buffers) const {
    int64_t bytes = 0;
    for (uint32_t index : buffers) {
      const plan::Buffer &buffer = stage.buffers(static_cast<int>(index));
      bytes += runtime::tensorBytes(buffer.dtype(), buffer.shape()).value_or(0);
    }
    return bytes;
  }

  const plan::Plan &plan;
  const plan::StageProgram &stage;
  runtime::RankGrid grid;
};

} // namespace

CommunicationReport tgpt::communicationReportOf(const plan::Plan &plan) {
  CommunicationReport report;
  report.model = plan.model_name();
  for (const plan::MeshAxis &axis : plan.mesh().axes())
    report.mesh += (report.mesh.empty() ? "" : " ") + axis.name() + "=" + std::to_string(axis.size());
  for (const plan::StageProgram &stage : plan.stages()) {
    StageExchanges counted(plan, stage);
    report.exchanges.insert(report.exchanges.end(), counted.exchanges.begin(), counted.exchanges.end());
  }
  return report;
}
