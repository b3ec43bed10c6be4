//===- LiveItems.cpp - what a live buffer is for people ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer has the line of the instruction that makes it, a variable that of the first
// forward instruction that reads its parameter. What is kept is named after the op of the
// model whose backward reads it: the forward kernel of the same line.
//
//===----------------------------------------------------------------------===//

#include "compiler/report/LiveItems.h"
#include "runtime/plan/BufferExtent.h"
#include <algorithm>
#include <cctype>

using namespace tgpt;

static bool isNumber(const std::string &text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

static std::string withoutCounter(const std::string &name) {
  size_t dot = name.rfind('.');
  return dot != std::string::npos && isNumber(name.substr(dot + 1)) ? name.substr(0, dot) : name;
}

/// Splits "layers.3.attn.q.linear.1" into "layers.3" and "attn.q.linear". The first part is
/// empty of other names, of buckets that join layers among them; "zero.layers.3.decayed" is
/// "bucket decayed" of its layer.
static std::pair<std::string, std::string> layerAndRest(const std::string &name) {
  static constexpr std::string_view layers = "layers.", bucket = "zero.";
  std::string text = name.starts_with(bucket) ? name.substr(bucket.size()) : name;
  size_t dot = text.starts_with(layers) ? text.find('.', layers.size()) : std::string::npos;
  if (dot == std::string::npos || !isNumber(text.substr(layers.size(), dot - layers.size())))
    return {"", text == name ? withoutCounter(text) : "bucket " + withoutCounter(text)};
  std::string rest = withoutCounter(text.substr(dot + 1));
  return {text.substr(0, dot), text == name ? rest : "bucket " + rest};
}

LiveItems::LiveItems(const plan::Plan &plan, const plan::StageProgram &stage)
    : plan(plan), stage(stage), line(stage.buffers_size()), laterLine(stage.buffers_size()),
      forwardLine(stage.buffers_size()) {
  for (const plan::Segment &segment : stage.segments())
    for (const plan::Instruction &instruction : segment.instructions())
      lookAt(instruction, segment.kind());
  findVariableLines();
}

std::string LiveItems::lineOf(const plan::Instruction &instruction) const {
  if (instruction.location() == 0 || instruction.location() >= static_cast<uint32_t>(plan.locations_size()))
    return "";
  const std::string &location = plan.locations(static_cast<int>(instruction.location()));
  return location.substr(0, location.find(' '));
}

void LiveItems::lookAt(const plan::Instruction &instruction, plan::Segment::Kind kind) {
  std::string where = lineOf(instruction);
  if (where.empty())
    return;
  bool isForward = kind == plan::Segment::FORWARD;
  if (isForward && instruction.kind() == plan::Instruction::KERNEL)
    opAt.try_emplace(where, instruction.opcode());
  auto note = [&](std::vector<std::string> &lines, uint32_t buffer) {
    if (lines[buffer].empty())
      lines[buffer] = where;
  };
  for (uint32_t output : instruction.outputs())
    note(line, output);
  for (uint32_t input : instruction.inputs())
    note(isForward ? forwardLine : laterLine, input);
}

/// States have the line of their parameter.
void LiveItems::findVariableLines() {
  std::map<std::string, std::string> lineOfParameter;
  for (const plan::Variable &variable : stage.variables())
    if (variable.role() == plan::Variable::PARAMETER)
      lineOfParameter[variable.name()] = forwardLine[variable.buffer()];
  for (const plan::Variable &variable : stage.variables()) {
    line[variable.buffer()].clear();
    if (!variable.has_flat())
      line[variable.buffer()] = lineOfParameter[variable.parameter()];
  }
}

static MemoryCategory categoryOf(plan::Region::Kind kind) {
  switch (kind) {
  case plan::Region::PARAMETERS: return MemoryCategory::Parameters;
  case plan::Region::GRADIENTS: return MemoryCategory::Gradients;
  case plan::Region::OPTIMIZER: return MemoryCategory::Optimizer;
  case plan::Region::COMMUNICATION: return MemoryCategory::Communication;
  case plan::Region::WORKSPACE: return MemoryCategory::Workspace;
  default: return MemoryCategory::Scratch;
  }
}

LiveItem LiveItems::itemOf(uint32_t index) const {
  const plan::Buffer &buffer = stage.buffers(static_cast<int>(index));
  LiveItem item;
  item.name = buffer.name();
  item.category = categoryOf(stage.regions(static_cast<int>(buffer.region())).kind());
  std::tie(item.layer, item.op) = layerAndRest(buffer.name());
  item.line = line[index];
  item.bytes = runtime::tensorBytes(buffer.dtype(), buffer.shape()).value_or(0);
  return item;
}

std::vector<LiveItem> LiveItems::at(const StageLiveness &liveness, const MemoryMoment &moment) const {
  std::vector<LiveItem> items;
  for (const LiveBuffer &live : liveness.liveAt(moment)) {
    LiveItem item = itemOf(live.buffer);
    item.copies = live.copies;
    item.bytes *= live.copies;
    if (live.isKept) {
      item.category = MemoryCategory::Activations;
      item.inputLine = laterLine[live.buffer];
      if (auto found = opAt.find(item.inputLine); found != opAt.end())
        item.inputOf = found->second;
    }
    items.push_back(std::move(item));
  }
  std::stable_sort(items.begin(), items.end(), [](const LiveItem &a, const LiveItem &b) { return a.bytes > b.bytes; });
  return items;
}
