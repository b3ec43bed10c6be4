//===- test/e2e/WorkspaceTest.cpp - what kernels need is what is planned -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler asks an op how much workspace its kernel needs, the kernel looks at its
// operands. Over plans of all kinds both must say the same, of each call: more would be
// memory for nothing, less is refused.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/DeviceBackends.h"
#include "runtime/engine/PlanViews.h"
#include "runtime/plan/Error.h"
#include "test/e2e/CompiledModel.h"
#include "test/e2e/TokenPattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

using namespace tgpt;
using namespace tgpt::runtime;

static plan::Plan compileNano(const char *recipe, const std::string &flags) {
  return compileRecipe(std::filesystem::path(TGPT_RECIPES_DIR) / (std::string(recipe) + ".yaml"), flags,
                       "--sequence-length=16");
}

/// Bytes that the call needs; operands have shapes, but no place.
static size_t neededBytes(const KernelSet &kernels, const plan::StageProgram &stage,
                          const plan::Instruction &instruction) {
  alignas(64) static std::byte somewhere[64];
  auto views = [&](const auto &operands) {
    std::vector<TensorView> list;
    for (uint32_t buffer : operands)
      list.push_back(viewOf(stage.buffers(static_cast<int>(buffer)), somewhere));
    return list;
  };
  std::vector<TensorView> inputs = views(instruction.inputs()), outputs = views(instruction.outputs());
  Attributes attributes = attributesOf(instruction, [](const plan::AxisOffset &) { return 0; });
  KernelCall call{inputs, outputs, &attributes};
  ResolvedKernel kernel = kernels.find(instruction.opcode(), call);
  return kernel.workspaceBytes ? kernel.workspaceBytes(call) : 0;
}

/// The most that a call of the stage needs; notes the kernels that need some, and finds each call's workspace.
static size_t mostNeeded(const KernelSet &kernels, const plan::StageProgram &stage, std::set<std::string> &needy) {
  size_t most = 0;
  for (const plan::Segment &segment : stage.segments())
    for (const plan::Instruction &instruction : segment.instructions()) {
      if (instruction.kind() != plan::Instruction::KERNEL)
        continue;
      size_t needed = neededBytes(kernels, stage, instruction);
      EXPECT_EQ(instruction.has_workspace(), needed > 0) << instruction.opcode();
      if (needed > 0)
        needy.insert(instruction.opcode());
      most = std::max(most, needed);
    }
  return most;
}

TEST(Workspace, IsWhatTheKernelsNeed) {
  KernelSet kernels = emulatedBackend()->kernels;
  std::set<std::string> needy;
  for (auto [recipe, flags] : {std::pair("nano", "--micro-batches=2"),
                               {"nano", "--tp=2 --sp --dtype=bf16"},
                               {"nano", "--tp=4 --pp=2"},
                               {"nano-gpt2", "--dp=2 --zero=2 --dtype=f64"},
                               {"nano", "--reduction=canonical --micro-batch-samples=6 --tp=2"},
                               {"nano-gpt2", "--reduction=canonical --micro-batch-samples=3 --tp=2 --sp"}}) {
    plan::Plan plan = compileNano(recipe, flags);
    for (const plan::StageProgram &stage : plan.stages()) {
      SCOPED_TRACE(std::string(recipe) + " " + flags + ", stage " + std::to_string(stage.stage()));
      size_t most = mostNeeded(kernels, stage, needy);
      const plan::Region &region = stage.regions(0);
      EXPECT_EQ(region.kind(), plan::Region::WORKSPACE);
      EXPECT_EQ(region.slot_bytes(), static_cast<int64_t>(most));
    }
  }
  for (const char *kernel : {"attention_grad", "cross_entropy", "layer_norm_grad", "rms_norm_grad", "rope",
                             "sum_leading", "sum_positions", "sum_squares", "token_loss"})
    EXPECT_TRUE(needy.count(kernel)) << kernel;
}

/// Takes 256 bytes off the workspace of every stage, as a compiler of another version might have planned it.
static void shorten(plan::Plan &plan) {
  for (plan::StageProgram &stage : *plan.mutable_stages())
    for (plan::Buffer &buffer : *stage.mutable_buffers())
      if (stage.regions(static_cast<int>(buffer.region())).kind() == plan::Region::WORKSPACE)
        buffer.set_shape(0, buffer.shape(0) - 64);
}

TEST(Workspace, OneThatIsTooSmallIsRefusedWhenThePlanIsLoaded) {
  plan::Plan plan = compileNano("nano", "");
  shorten(plan);
  JobOptions options;
  options.device.backend = emulatedBackend();
  try {
    Job job(plan, options);
    FAIL() << "a job with too small a workspace";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("needs a workspace of "), std::string::npos) << error.what();
  }
  EXPECT_NO_THROW(Job(plan, {})) << "kernels of the host need none";
}

static std::vector<double> losses(const plan::Plan &plan) {
  JobOptions options;
  options.device.backend = emulatedBackend();
  Job job(plan, options);
  job.initializeVariables();
  TokenPattern inputs(plan, 3e-3);
  std::vector<double> result;
  for (inputs.step = 1; inputs.step <= 2; ++inputs.step)
    result.push_back(job.runStep(inputs).loss);
  EXPECT_FALSE(job.fusedCalls().empty());
  for (int64_t rank = 0; rank < job.ranks(); ++rank)
    EXPECT_EQ(job.highWaterBytes(rank), job.plannedBytes(rank));
  return result;
}

/// The emulated library writes all of what it is given, and computes the same whatever that is.
TEST(Workspace, OfProductsChangesNoBit) {
  std::vector<double> without = losses(compileNano("nano-gpt2", "--micro-batches=2"));
  EXPECT_EQ(losses(compileNano("nano-gpt2", "--micro-batches=2 --product-workspace-bytes=65536")), without);
  EXPECT_EQ(losses(compileNano("nano-gpt2", "--micro-batches=2 --product-workspace-bytes=300000")), without);
}
