//===- ChromeTrace.cpp - events as Chrome and Perfetto read them ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/trace/ChromeTrace.h"
#include "runtime/files/AtomicFile.h"
#include "runtime/plan/PlanText.h"
#include "runtime/plan/RankGrid.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace tgpt;
using namespace tgpt::runtime;

static constexpr const char *streamNames[] = {"compute", "communication within tp", "communication over dp"};
static constexpr const char *segmentKinds[] = {"", "begin", "forward", "backward", "update", "weight_gradient"};

namespace {

/// Collects text and writes it in large pieces: a trace may be larger than memory should hold.
class TraceWriter {
public:
  TraceWriter(const std::filesystem::path &path, const plan::Plan &plan) : plan(plan), grid(plan.mesh()), file(path) {}

  void write(std::span<const InstructionEvent> events, const std::string &source) {
    text =
        "{\"displayTimeUnit\":\"ms\",\"otherData\":" +
        nlohmann::ordered_json({{"source", source}, {"model", plan.model_name()}, {"options", plan.options()}}).dump() +
        ",\"traceEvents\":[";
    double origin = INFINITY;
    for (const InstructionEvent &event : events)
      origin = std::min(origin, event.beginSeconds);
    nameRanks(events);
    for (const InstructionEvent &event : events)
      add(event, origin);
    text += "\n]}\n";
    flush();
    file.commit();
  }

private:
  void nameRanks(std::span<const InstructionEvent> events);
  void add(const InstructionEvent &event, double origin);

  void add(const std::string &line) {
    text += (isFirst ? "\n" : ",\n") + line;
    isFirst = false;
    if (text.size() > (1 << 20))
      flush();
  }

  void flush() {
    file.append(std::as_bytes(std::span(text)));
    text.clear();
  }

  const plan::Plan &plan;
  RankGrid grid;
  AtomicFile file;
  std::string text;
  bool isFirst = true;
  std::map<const plan::Instruction *, std::pair<std::string, std::string>> facts; // name and args, as JSON
};

} // namespace

void TraceWriter::nameRanks(std::span<const InstructionEvent> events) {
  std::set<std::pair<int64_t, int>> streams;
  for (const InstructionEvent &event : events)
    streams.insert({event.rank, event.stream});
  auto name = [&](const char *what, int64_t rank, int stream, const std::string &as) {
    add(nlohmann::ordered_json({{"name", what}, {"ph", "M"}, {"pid", rank}, {"tid", stream}, {"args", {{"name", as}}}})
            .dump());
  };
  for (auto [rank, stream] : streams) {
    if (stream == plan::Instruction::COMPUTE)
      name("process_name", rank, stream, grid.describe(rank));
    name("thread_name", rank, stream, streamNames[stream]);
  }
}

static std::string groupText(const plan::Group &group) {
  std::string text;
  for (const std::string &axis : group.axes())
    text += (text.empty() ? "" : " x ") + axis;
  std::string stages;
  for (int64_t stage : group.stages())
    stages += (stages.empty() ? " of stages " : ", ") + std::to_string(stage);
  return text + stages;
}

/// Name and arguments that every run of an instruction shares; the arguments' brace is left open.
static std::pair<std::string, std::string> factsOf(const plan::Plan &plan, const plan::Segment &segment,
                                                   const plan::Instruction &instruction) {
  nlohmann::ordered_json arguments = {
      {"segment", segment.name()}, {"kind", segmentKinds[segment.kind()]}, {"chunk", segment.chunk()}};
  if (instruction.kind() != plan::Instruction::KERNEL && !instruction.opcode().empty())
    arguments["opcode"] = instruction.opcode();
  if (instruction.location() > 0 && instruction.location() < static_cast<uint32_t>(plan.locations_size()))
    arguments["location"] = plan.locations(static_cast<int>(instruction.location()));
  arguments["flops"] = instruction.cost().flops();
  arguments["bytes"] = static_cast<uint64_t>(instruction.cost().bytes_read()) +
                       static_cast<uint64_t>(instruction.cost().bytes_written());
  if (instruction.kind() >= plan::Instruction::ALL_REDUCE && instruction.kind() <= plan::Instruction::ALL_TO_ALL)
    arguments["group"] = groupText(plan.groups(static_cast<int>(instruction.group())));
  if (instruction.kind() == plan::Instruction::SEND || instruction.kind() == plan::Instruction::RECV) {
    arguments["channel"] = instruction.channel();
    arguments["peer_stage"] = instruction.peer_stage();
  }
  if (instruction.event() != 0)
    arguments["event"] = instruction.event();
  std::string text = arguments.dump();
  text.pop_back();
  return {nlohmann::json(eventName(instruction)).dump(), text};
}

void TraceWriter::add(const InstructionEvent &event, double origin) {
  const plan::Instruction &instruction = event.instructionIn(plan);
  auto found = facts.find(&instruction);
  if (found == facts.end())
    found = facts.emplace(&instruction, factsOf(plan, event.segmentIn(plan), instruction)).first;
  const auto &[name, arguments] = found->second;
  char times[160];
  std::snprintf(times, sizeof times, R"("ph":"X","ts":%.3f,"dur":%.3f,"pid":%lld,"tid":%d)",
                1e6 * (event.beginSeconds - origin), 1e6 * (event.endSeconds - event.beginSeconds),
                static_cast<long long>(event.rank), static_cast<int>(event.stream));
  add("{\"name\":" + name + "," + times + ",\"args\":" + arguments + ",\"micro_batch\":" +
      std::to_string(event.entryIn(plan).micro_batch()) + ",\"step\":" + std::to_string(event.step) + "}}");
}

void tgpt::runtime::writeChromeTrace(const std::filesystem::path &path, const plan::Plan &plan,
                                     std::span<const InstructionEvent> events, const std::string &source) {
  TraceWriter(path, plan).write(events, source);
}
