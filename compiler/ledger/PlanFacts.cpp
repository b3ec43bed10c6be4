//===- PlanFacts.cpp - what the ledger asks of a plan ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/ledger/PlanFacts.h"
#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/RankGrid.h"
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

using namespace tgpt;
using runtime::RankGrid;

std::string tgpt::optionOf(const plan::Plan &plan, const std::string &name, const std::string &otherwise) {
  std::istringstream options(plan.options());
  for (std::string option; options >> option;) {
    if (option == "--" + name)
      return "";
    if (option.starts_with("--" + name + "="))
      return option.substr(name.size() + 3);
  }
  return otherwise;
}

static cost::Schedule scheduleOf(const plan::Plan &plan, double chunks) {
  std::string schedule = optionOf(plan, "schedule", "1f1b");
  if (schedule == "gpipe")
    return cost::Schedule::GPipe;
  if (schedule == "zero-bubble")
    return cost::Schedule::ZeroBubbleH1;
  return chunks > 1 ? cost::Schedule::Interleaved : cost::Schedule::OneF1B;
}

cost::Execution tgpt::executionOf(const plan::Plan &plan) {
  RankGrid grid(plan.mesh());
  auto size = [&](const char *axis) { return static_cast<double>(grid.axisSize(axis)); };
  cost::Execution run;
  run.dp = size("dp") * size("dp_replica");
  run.pp = size("pp");
  run.tp = size("tp") * size("tp_inner");
  for (const plan::StageProgram &stage : plan.stages())
    for (const plan::Segment &segment : stage.segments())
      run.chunks = std::max(run.chunks, static_cast<double>(segment.chunk() + 1));
  run.sequenceParallel = optionOf(plan, "sp", "-") != "-";
  run.zero = std::atoi(optionOf(plan, "zero", "0").c_str());
  run.zeroRanks = size("dp");
  run.schedule = scheduleOf(plan, run.chunks);
  std::string recompute = optionOf(plan, "recompute", "none");
  run.recompute = recompute == "full"        ? cost::Recompute::Full
                  : recompute == "selective" ? cost::Recompute::Selective
                                             : cost::Recompute::None;
  run.microBatch = static_cast<double>(plan.training().micro_batch_samples());
  run.microBatches = static_cast<double>(plan.training().micro_batches());
  return run;
}

/// Elements of a variable on one rank before a bucket is cut, and how many of them are no part of the logical tensor.
struct ShardElements {
  double all = 1, outside = 0;
};

static ShardElements shardOf(const plan::Variable &variable, const RankGrid &grid) {
  double inside = 1;
  ShardElements elements;
  for (int i = 0; i < variable.global_shape_size(); ++i) {
    int64_t size = variable.global_shape(i);
    double shards = static_cast<double>(i < variable.dims_size() ? grid.sizeOf(variable.dims(i).axes()) : 1);
    elements.all *= static_cast<double>(size) / shards;
    if (variable.has_window() && i < variable.window().shape_size())
      size = std::clamp<int64_t>(variable.window().shape(i) - variable.window().at(i), 0, size);
    inside *= static_cast<double>(size) / shards;
  }
  elements.outside = elements.all - inside;
  return elements;
}

static double elementsOf(const plan::Buffer &buffer) {
  return static_cast<double>(runtime::tensorBytes(buffer.dtype(), buffer.shape()).value_or(0) /
                             std::max<int64_t>(runtime::elementBytes(buffer.dtype()), 1));
}

StateFacts tgpt::stateFactsOf(const plan::Plan &plan, const plan::StageProgram &stage, plan::Variable::Role role) {
  RankGrid grid(plan.mesh());
  StateFacts facts;
  std::set<uint32_t> seen; // flat variables share a buffer
  std::set<std::string> parameters;
  double members = 0; // elements that variables have of the buffers
  for (const plan::Variable &variable : stage.variables()) {
    if (variable.role() != role)
      continue;
    const plan::Buffer &buffer = stage.buffers(static_cast<int>(variable.buffer()));
    bool isFirst = seen.insert(variable.buffer()).second;
    if (!parameters.insert(variable.parameter()).second) {
      facts.furtherBytes += isFirst ? elementsOf(buffer) * runtime::elementBytes(buffer.dtype()) : 0;
      continue;
    }
    ShardElements shard = shardOf(variable, grid);
    double pieces = static_cast<double>(variable.has_flat() ? grid.sizeOf(variable.flat().axes()) : 1);
    facts.elementBytes = static_cast<double>(runtime::elementBytes(buffer.dtype()));
    facts.elements += isFirst ? elementsOf(buffer) : 0;
    facts.vocabularyPadding += shard.outside / pieces;
    members += shard.all / pieces;
  }
  facts.bucketPadding = facts.elements - members;
  return facts;
}

double tgpt::scalarBytesOf(const plan::StageProgram &stage, plan::Variable::Role role) {
  double bytes = 0;
  for (const plan::Variable &variable : stage.variables())
    if (variable.role() == role) {
      const plan::Buffer &buffer = stage.buffers(static_cast<int>(variable.buffer()));
      bytes += static_cast<double>(runtime::tensorBytes(buffer.dtype(), buffer.shape()).value_or(0));
    }
  return bytes;
}

/// "layers.3" of "layers.3.attn.q.weight"; empty of others.
static std::string layerOf(const std::string &name) {
  static constexpr std::string_view layers = "layers.";
  return name.starts_with(layers) ? name.substr(0, name.find('.', layers.size())) : "";
}

std::vector<double> tgpt::layersOfChunks(const plan::StageProgram &stage) {
  std::map<uint32_t, std::set<std::string>> layersOfBuffer;
  for (const plan::Variable &variable : stage.variables())
    if (std::string layer = layerOf(variable.parameter());
        variable.role() == plan::Variable::PARAMETER && !layer.empty())
      layersOfBuffer[variable.buffer()].insert(layer);
  std::vector<std::set<std::string>> layers;
  for (const plan::Segment &segment : stage.segments()) {
    layers.resize(std::max(layers.size(), static_cast<size_t>(segment.chunk() + 1)));
    if (segment.kind() != plan::Segment::FORWARD)
      continue;
    for (const plan::Instruction &instruction : segment.instructions())
      for (uint32_t input : instruction.inputs())
        if (auto found = layersOfBuffer.find(input); found != layersOfBuffer.end())
          layers[segment.chunk()].insert(found->second.begin(), found->second.end());
  }
  std::vector<double> counts;
  for (const std::set<std::string> &chunk : layers)
    counts.push_back(static_cast<double>(chunk.size()));
  return counts;
}
