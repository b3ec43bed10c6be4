//===- test/e2e/ZeroTest.cpp - memory, bits and checkpoints under ZeRO -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// That a step computes the same under every stage is EquivalenceTest; here: each
// category of memory is what the closed form says, the same plan gives the same bits,
// and a checkpoint of one stage and grid goes on under another.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/plan/BufferExtent.h"
#include "test/e2e/CompiledModel.h"
#include "test/e2e/ScratchBytes.h"
#include "test/e2e/TokenPattern.h"
#include "test/e2e/Values.h"
#include "test/unit/files/TemporaryDirectory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

plan::Plan compile(const std::string &model, const std::string &flags) {
  return compileRecipe(std::filesystem::path(TGPT_RECIPES_DIR) / (model + ".yaml"), "--seed=5 " + flags);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Bytes of the buffers of a region that are no part of another one of it.
int64_t bufferBytes(const plan::StageProgram &stage, plan::Region::Kind kind) {
  std::vector<Extent> extents;
  for (const plan::Buffer &buffer : stage.buffers())
    if (stage.regions(static_cast<int>(buffer.region())).kind() == kind)
      extents.push_back(extentOf(buffer));
  std::sort(extents.begin(), extents.end(),
            [](const Extent &a, const Extent &b) { return std::pair(a.begin, -a.end) < std::pair(b.begin, -b.end); });
  int64_t bytes = 0, end = 0;
  for (const Extent &extent : extents) {
    if (extent.begin < end)
      continue;
    bytes += extent.end - extent.begin;
    end = extent.end;
  }
  return bytes;
}

int64_t regionBytes(const plan::StageProgram &stage, plan::Region::Kind kind) {
  for (const plan::Region &region : stage.regions())
    if (region.kind() == kind)
      return region.slots() * region.slot_bytes();
  return 0;
}

/// What a micro-batch keeps for its backward.
int64_t keptBytes(const plan::StageProgram &stage) {
  for (const plan::Region &region : stage.regions())
    if (region.kind() == plan::Region::ACTIVATIONS)
      return region.peak_live_bytes();
  return 0;
}

/// Local elements of the parameters of each bucket: a bucket a layer (by name) and kind (decayed or not), as the
/// passes form them with --bucket-mib=0. The tied embedding is used by two layers and has its own.
std::map<std::string, int64_t> bucketElements(const plan::StageProgram &stage) {
  std::map<std::string, int64_t> elements;
  for (const plan::Variable &variable : stage.variables()) {
    if (variable.role() != plan::Variable::PARAMETER)
      continue;
    int64_t count = 1;
    for (int64_t size : variable.global_shape())
      count *= size;
    std::string name = variable.name();
    bool isDecayed = name.find("norm") == std::string::npos && name.find("bias") == std::string::npos;
    std::string scope =
        name.rfind("layers.", 0) == 0 ? name.substr(0, name.find('.', 7)) : name.substr(0, name.find('.'));
    elements[scope + (isDecayed ? ".decayed" : ".undecayed")] += count;
  }
  return elements;
}

struct Bytes {
  int64_t parameters = 0, gradients = 0, optimizer = 0;
};

Bytes closedForm(const std::map<std::string, int64_t> &buckets, int zero, int dp, int64_t parameterBytes,
                 int64_t stateBytes, int64_t optimizerStates) {
  Bytes bytes;
  for (const auto &[name, elements] : buckets) {
    int64_t padded = zero && dp > 1 ? roundUp(elements, dp) : elements;
    bytes.parameters += padded / (zero >= 3 ? dp : 1) * parameterBytes;
    bytes.gradients += padded / (zero >= 2 ? dp : 1) * stateBytes;
    bytes.optimizer += padded / (zero >= 1 ? dp : 1) * stateBytes * optimizerStates;
  }
  bytes.gradients += 2 * stateBytes; // loss_sum and token_count
  return bytes;
}

} // namespace

TEST(ZeroMemory, EveryCategoryIsTheClosedForm) {
  for (const char *model : {"nano", "nano-gpt2"})
    for (bool isBf16 : {false, true})
      for (int dp : {1, 2, 3, 4, 6, 8}) {
        int64_t last[4] = {};
        for (int zero : {0, 1, 2, 3}) {
          plan::Plan plan = compile(model, "--bucket-mib=0 --zero=" + std::to_string(zero) +
                                               " --dp=" + std::to_string(dp) + " --dtype=" + (isBf16 ? "bf16" : "f32"));
          const plan::StageProgram &stage = plan.stages(0);
          Bytes expected = closedForm(bucketElements(stage), zero, dp, isBf16 ? 2 : 4, 4, isBf16 ? 3 : 2);
          std::string where = std::string(model) + (isBf16 ? " bf16" : " f32") + " zero " + std::to_string(zero) +
                              " dp " + std::to_string(dp);
          EXPECT_EQ(bufferBytes(stage, plan::Region::PARAMETERS), expected.parameters) << where;
          EXPECT_EQ(bufferBytes(stage, plan::Region::GRADIENTS), expected.gradients) << where;
          EXPECT_EQ(bufferBytes(stage, plan::Region::OPTIMIZER), expected.optimizer) << where;
          // Regions add nothing but the alignment of each buffer to 64 bytes.
          int64_t alignment = 0;
          for (auto kind : {plan::Region::PARAMETERS, plan::Region::GRADIENTS, plan::Region::OPTIMIZER}) {
            int64_t added = regionBytes(stage, kind) - bufferBytes(stage, kind);
            EXPECT_GE(added, 0) << where;
            EXPECT_LT(added, 64 * stage.buffers_size()) << where;
            alignment += added;
          }
          last[zero] = expected.parameters + expected.gradients + expected.optimizer + alignment;
        }
        if (dp > 1) {
          EXPECT_GT(last[0], last[1]) << model << " dp " << dp;
          EXPECT_GT(last[1], last[2]) << model << " dp " << dp;
          EXPECT_GT(last[2], last[3]) << model << " dp " << dp;
        }
      }
}

TEST(ZeroMemory, MoreRanksNeedNoMore) {
  for (int zero : {1, 2, 3}) {
    int64_t before = std::numeric_limits<int64_t>::max();
    for (int dp : {1, 2, 4, 8}) {
      plan::Plan plan = compile("nano", "--tp=2 --zero=" + std::to_string(zero) + " --dp=" + std::to_string(dp));
      int64_t bytes = 0;
      for (auto kind : {plan::Region::PARAMETERS, plan::Region::GRADIENTS, plan::Region::OPTIMIZER})
        bytes += regionBytes(plan.stages(0), kind);
      EXPECT_LT(bytes, before) << "zero " << zero << " dp " << dp;
      before = bytes;
    }
  }
}

// A rank of a group holds what it would if there were no other groups.
TEST(ZeroMemory, GroupsHoldTheSame) {
  for (int zero : {1, 2, 3}) {
    std::string flags = "--tp=2 --zero=" + std::to_string(zero);
    plan::Plan alone = compile("nano-gpt2", flags + " --dp=3"),
               grouped = compile("nano-gpt2", flags + " --dp=6 --zero-group=3");
    for (auto kind : {plan::Region::PARAMETERS, plan::Region::GRADIENTS, plan::Region::OPTIMIZER})
      EXPECT_EQ(regionBytes(grouped.stages(0), kind), regionBytes(alone.stages(0), kind)) << "zero " << zero;
  }
}

// Each layer that parameters are gathered ahead is held in scratch, and nowhere else, until all layers are.
TEST(ZeroMemory, PrefetchHoldsMoreLayers) {
  int64_t layer = 0;
  for (const auto &[name, elements] : bucketElements(compile("nano", "--dp=2").stages(0)))
    if (name.rfind("layers.0.", 0) == 0)
      layer += 4 * elements;
  std::vector<plan::Plan> plans;
  for (int prefetch : {0, 1, 2, 3, 4, 5})
    plans.push_back(compile("nano", "--dp=2 --zero=3 --overlap --prefetch=" + std::to_string(prefetch)));
  auto scratch = [&](int prefetch) { return mostScratchBytes(plans[prefetch].stages(0)); };
  for (int prefetch : {1, 2, 3, 4, 5}) {
    EXPECT_GE(scratch(prefetch), scratch(prefetch - 1));
    EXPECT_LE(scratch(prefetch), scratch(0) + prefetch * layer + roundUp(layer, 64));
    EXPECT_EQ(keptBytes(plans[prefetch].stages(0)), keptBytes(plans[0].stages(0)));
  }
  EXPECT_GT(scratch(2), scratch(0) + layer);
  EXPECT_EQ(scratch(4), scratch(5));
}

//===----------------------------------------------------------------------===//
// Bits and checkpoints
//===----------------------------------------------------------------------===//

namespace {

constexpr double learningRate = 3e-3;

void trainFrom(Job &job, int64_t first, int64_t last) {
  TokenPattern inputs(job.plan(), learningRate);
  for (inputs.step = first; inputs.step <= last; ++inputs.step)
    job.runStep(inputs);
  job.verifyCopiesEqual();
}

bool isSaved(plan::Variable::Role role) {
  return role != plan::Variable::GRADIENT && role != plan::Variable::METRIC;
}

std::map<std::string, std::vector<std::byte>> savedBytes(const Job &job) {
  std::map<std::string, std::vector<std::byte>> bytes;
  for (const std::string &name : job.variableNames())
    if (isSaved(job.variable(name).role()))
      bytes[name] = job.readVariable(name).bytes;
  return bytes;
}

/// 12 samples a step on any of these grids.
const char *const manyPlans[] = {
    "--micro-batch-samples=12",
    "--dp=2 --micro-batch-samples=3 --micro-batches=2 --zero=1",
    "--dp=3 --tp=2 --sp --micro-batch-samples=2 --micro-batches=2 --zero=2",
    "--dp=3 --pp=2 --micro-batch-samples=2 --micro-batches=2 --zero=3",
    "--dp=2 --tp=2 --pp=2 --micro-batch-samples=6 --zero=3",
    "--dp=6 --micro-batch-samples=2 --zero=2 --zero-group=3",
};

} // namespace

TEST(ZeroTest, TwoRunsGiveTheSameBits) {
  for (int zero : {1, 2, 3}) {
    plan::Plan plan =
        compile("nano", "--tp=2 --dp=3 --sp --micro-batches=2 --dtype=bf16 --zero=" + std::to_string(zero));
    Job first(plan), second(plan);
    first.initializeVariables();
    second.initializeVariables();
    trainFrom(first, 1, 3);
    trainFrom(second, 1, 3);
    EXPECT_EQ(savedBytes(first), savedBytes(second)) << "zero " << zero;
  }
}

TEST(ZeroTest, FirstWeightsDoNotDependOnTheStage) {
  for (const char *model : {"nano", "nano-gpt2"}) {
    Job whole(compile(model, manyPlans[0]));
    whole.initializeVariables();
    for (const char *flags : manyPlans) {
      Job job(compile(model, flags));
      job.initializeVariables();
      EXPECT_EQ(savedBytes(job), savedBytes(whole)) << model << " " << flags;
    }
  }
}

// Saved under each plan and loaded under each other, values are the same to the bit; loaded under the plan that saved
// them, the run goes on with the bits of the unbroken one.
TEST(ZeroTest, CheckpointsGoFromAnyStageToAnyOther) {
  for (const char *from : manyPlans) {
    TemporaryDirectory folder;
    Job saved(compile("nano", std::string(from) + " --dtype=bf16"));
    saved.initializeVariables();
    trainFrom(saved, 1, 2);
    TrainingState state;
    state.step = 2;
    std::filesystem::path checkpoint = saveCheckpoint(saved, state, folder.getPath());
    for (const char *to : manyPlans) {
      Job resumed(compile("nano", std::string(to) + " --dtype=bf16"));
      resumed.initializeVariables();
      loadCheckpoint(resumed, checkpoint);
      EXPECT_EQ(savedBytes(resumed), savedBytes(saved)) << from << " to " << to;
      if (from != to)
        continue;
      Job unbroken(resumed.plan());
      unbroken.initializeVariables();
      trainFrom(unbroken, 1, 4);
      trainFrom(resumed, 3, 4);
      EXPECT_EQ(savedBytes(resumed), savedBytes(unbroken)) << from;
    }
  }
}

// What is written is what is read, and nothing else changes.
TEST(ZeroTest, VariablesInPiecesAreLogicalTensors) {
  Job job(compile("nano-gpt2", "--dp=3 --tp=2 --zero=3 --micro-batch-samples=1"));
  job.initializeVariables();
  std::map<std::string, std::vector<std::byte>> expected = savedBytes(job);
  for (const char *name : {"layers.1.attn.q.bias", "layers.2.mlp.down.weight.moment1", "embed.weight"}) {
    LogicalTensor value = job.readVariable(name);
    for (int64_t i = 0; i < value.view().elements(); ++i)
      storeElement(value.view(), 0.5 + static_cast<double>(i % 4096), i);
    job.writeVariable(name, value);
    expected[name] = value.bytes;
  }
  EXPECT_EQ(savedBytes(job), expected);
  job.verifyCopiesEqual();
}
