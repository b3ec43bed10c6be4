//===- CheckLayoutsTest.cpp - refusals: values taken for what they are not -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One stage on dp = 2, tp = 2: a weight sharded over tp, a gradient that is partial
// over dp until the update, a product that is partial over tp until it is summed or
// scattered. Each case makes one mistake. test/mutation does the same to real plans.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/CheckPlan.h"
#include "test/unit/plan/FuzzPlan.h"
#include "test/unit/plan/PlanBuilder.h"

#include <gtest/gtest.h>

#include <functional>

using namespace tgpt;
using namespace tgpt::test;

namespace {

enum Layouts : uint32_t { whole, sharded, overTp, shardedOverDp, scalar };

struct Operand {
  uint32_t layout, value;
};

void describe(plan::Instruction &instruction, const std::vector<Operand> &operands) {
  for (auto [layout, value] : operands) {
    instruction.add_layouts(layout);
    instruction.add_values(value);
  }
}

void addLayout(plan::Plan &plan, const std::vector<Axes> &dims, const Axes &partial) {
  plan::Layout &layout = *plan.add_layouts();
  for (const Axes &axes : dims)
    layout.add_dims()->mutable_axes()->Add(axes.begin(), axes.end());
  layout.mutable_partial_axes()->Add(partial.begin(), partial.end());
  if (!partial.empty())
    layout.set_reduction("sum");
}

plan::Plan typedPlan() {
  PlanBuilder b(2, 1, 2, 2);
  uint32_t tp = b.group({"tp"}), dp = b.group({"dp"});
  uint32_t begin = b.segment(0, "begin", plan::Segment::BEGIN), fwd = b.segment(0, "forward", plan::Segment::FORWARD),
           bwd = b.segment(0, "backward", plan::Segment::BACKWARD),
           update = b.segment(0, "update", plan::Segment::UPDATE);
  uint32_t w = b.variable(0, "w", plan::Variable::PARAMETER, plan::F64, {4}, {{"tp"}}).buffer();
  uint32_t g = b.variable(0, "w.grad", plan::Variable::GRADIENT, plan::F64, {4}, {{"tp"}}).buffer();
  auto scratch = [&](const char *name, int64_t size) {
    return b.buffer(0, name, plan::Region::SCRATCH, plan::F64, {size});
  };
  uint32_t x = scratch("x", 2), y = scratch("y", 4), part = scratch("part", 2), all = scratch("all", 4),
           norm = b.buffer(0, "norm", plan::Region::SCRATCH, plan::F64, {}),
           saved = b.buffer(0, "saved", plan::Region::ACTIVATIONS, plan::F64, {2});

  describe(b.kernel(0, begin, "fill", {}, {g}), {{shardedOverDp, 0}});
  describe(b.kernel(0, fwd, "shard", {w}, {x}), {{sharded, 0}, {sharded, 1}});
  describe(b.kernel(0, fwd, "row_parallel", {x}, {y}), {{sharded, 1}, {overTp, 2}});
  describe(b.collective(0, fwd, plan::Instruction::ALL_REDUCE, tp, y, y), {{overTp, 2}, {whole, 3}});
  describe(b.kernel(0, fwd, "column_parallel", {y}, {saved}), {{whole, 3}, {sharded, 4}});
  describe(b.collective(0, bwd, plan::Instruction::ALL_GATHER, tp, saved, all), {{sharded, 4}, {whole, 5}});
  describe(b.kernel(0, bwd, "row_parallel", {all}, {y}), {{whole, 5}, {overTp, 6}});
  describe(b.collective(0, bwd, plan::Instruction::REDUCE_SCATTER, tp, y, part), {{overTp, 6}, {sharded, 7}});
  plan::Instruction &wgrad = b.kernel(0, bwd, "wgrad", {part}, {g});
  setAttribute(wgrad, "accumulate", int64_t(1));
  describe(wgrad, {{sharded, 7}, {shardedOverDp, 0}});
  describe(b.collective(0, update, plan::Instruction::ALL_REDUCE, dp, g, g), {{shardedOverDp, 0}, {sharded, 8}});
  describe(b.kernel(0, update, "step", {w, g}, {w, norm}), {{sharded, 0}, {sharded, 8}, {sharded, 0}, {scalar, 9}});
  describe(b.instruction(0, update, plan::Instruction::OUTPUT, "norm", {norm}, {}), {{scalar, 9}});
  b.run(0, begin);
  for (int64_t m : {0, 1}) {
    b.run(0, fwd, m);
    b.run(0, bwd, m);
  }
  b.run(0, update);
  plan::Plan plan = b.build();
  addLayout(plan, {{}}, {});
  addLayout(plan, {{"tp"}}, {});
  addLayout(plan, {{}}, {"tp"});
  addLayout(plan, {{"tp"}}, {"dp"});
  addLayout(plan, {}, {});
  return plan;
}

using Instructions = google::protobuf::RepeatedPtrField<plan::Instruction>;

/// Segments: 0 begin, 1 forward, 2 backward, 3 update.
void expectProblem(const std::string &text, int segment, const std::function<void(Instructions &)> &damage) {
  plan::Plan plan = typedPlan();
  damage(*plan.mutable_stages(0)->mutable_segments(segment)->mutable_instructions());
  std::vector<std::string> problems = runtime::findPlanProblems(plan);
  ASSERT_FALSE(problems.empty()) << "not refused, expected: " << text;
  EXPECT_NE(problems.front().find(text), std::string::npos) << "expected: " << text << "\nfound: " << problems.front();
}

void drop(Instructions &all, int index) {
  all.DeleteSubrange(index, 1);
}

} // namespace

TEST(CheckLayouts, RightPlanPasses) {
  std::vector<std::string> problems = runtime::findPlanProblems(typedPlan());
  EXPECT_TRUE(problems.empty()) << problems.front();
}

TEST(CheckLayouts, MissingReduction) {
  expectProblem("stage 0, segment 'forward', instruction 2 (column_parallel) takes 'y' for value 3, but value 2 was "
                "written there last, as 'y'",
                1, [](Instructions &all) { drop(all, 2); });
  expectProblem("takes 'w.grad' for value 8, but value 0 was written there last", 3,
                [](Instructions &all) { drop(all, 0); });
}

TEST(CheckLayouts, RepeatedReduction) {
  expectProblem("takes 'y' for value 2, but value 3 was written there last", 1, [](Instructions &all) {
    *all.Add() = all.Get(2);
    all.SwapElements(3, 4);
  });
  // What the update takes from a variable has no number: its layout tells.
  expectProblem("takes 'w.grad' for [tp] partial sum over dp, but it is [tp]", 3, [](Instructions &all) {
    *all.Add() = all.Get(0);
    all.SwapElements(2, 3);
    all.SwapElements(1, 2);
  });
}

TEST(CheckLayouts, OtherGroup) {
  expectProblem("reduces over dp what is [-] partial sum over tp", 1, [](Instructions &all) { all[2].set_group(1); });
  expectProblem("gathers over dp dimension 0 of what is [tp]", 2, [](Instructions &all) { all[0].set_group(1); });
  expectProblem("reduces over dp what is", 2, [](Instructions &all) { all[2].set_group(1); });
}

TEST(CheckLayouts, OtherReduction) {
  expectProblem("reduces by 'max' what is [-] partial sum over tp", 1,
                [](Instructions &all) { all[2].set_opcode("max"); });
}

TEST(CheckLayouts, FalseClaims) {
  expectProblem("gives [tp], expected [-]", 1, [](Instructions &all) { all[2].set_layouts(1, sharded); });
  expectProblem("takes 'w' for [-], but it is [tp]", 1, [](Instructions &all) { all[0].set_layouts(0, whole); });
  expectProblem("takes 'w.grad' for [tp], but it is [tp] partial sum over dp", 2,
                [](Instructions &all) { all[3].set_layouts(1, sharded); });
  expectProblem("variable 'w' is said to be [tp] but is [tp] partial sum over dp at the end of a step", 3,
                [](Instructions &all) { all[1].set_layouts(2, shardedOverDp); });
}

// Reduced in the backward of one micro-batch, the gradient is not what the next one adds to.
TEST(CheckLayouts, ReducedBetweenMicroBatches) {
  plan::Plan plan = typedPlan();
  plan::StageProgram &stage = *plan.mutable_stages(0);
  Instructions &backward = *stage.mutable_segments(2)->mutable_instructions(),
               &update = *stage.mutable_segments(3)->mutable_instructions();
  *backward.Add() = update.Get(0);
  drop(update, 0);
  std::vector<std::string> problems = runtime::findPlanProblems(plan);
  ASSERT_FALSE(problems.empty());
  EXPECT_NE(problems.front().find("(wgrad) takes 'w.grad' for [tp] partial sum over dp, but it is [tp]"),
            std::string::npos)
      << problems.front();
}

TEST(CheckLayouts, PartialOutput) {
  plan::Plan plan = typedPlan();
  plan::Layout &partial = *plan.add_layouts();
  partial.add_partial_axes("tp");
  partial.set_reduction("sum");
  Instructions &update = *plan.mutable_stages(0)->mutable_segments(3)->mutable_instructions();
  update[1].set_layouts(3, 5);
  update[2].set_layouts(0, 5);
  std::vector<std::string> problems = runtime::findPlanProblems(plan);
  ASSERT_FALSE(problems.empty());
  EXPECT_NE(problems.front().find("reports what is [] partial sum over tp"), std::string::npos) << problems.front();
}

TEST(CheckLayouts, Tables) {
  expectProblem("has 1 value numbers for 2 operands", 1,
                [](Instructions &all) { all[0].mutable_values()->RemoveLast(); });
  expectProblem("has 1 layouts for 2 operands", 1, [](Instructions &all) { all[0].mutable_layouts()->RemoveLast(); });
  expectProblem("names layout 77, but the plan has 5", 1, [](Instructions &all) { all[0].set_layouts(0, 77); });
  expectProblem("gives 'w', [2] f64, the layout []", 1, [](Instructions &all) { all[0].set_layouts(0, scalar); });
  plan::Plan plan = typedPlan();
  plan.mutable_layouts(0)->add_partial_axes("ep");
  plan.mutable_layouts(1)->add_partial_axes("tp");
  plan.mutable_layouts(2)->set_reduction("mean");
  std::vector<std::string> problems = runtime::findPlanProblems(plan);
  ASSERT_GE(problems.size(), 4u);
  EXPECT_NE(problems[0].find("names 'ep', which is not an axis of the mesh"), std::string::npos) << problems[0];
  EXPECT_NE(problems[2].find("names axis 'tp' twice"), std::string::npos) << problems[2];
}

TEST(CheckLayouts, MadeInVain) {
  expectProblem("segment 'backward', instruction 2 (reduce_scatter sum) makes value 7, which no instruction reads", 2,
                [](Instructions &all) { drop(all, 3); });
  expectProblem("instruction 2 (row_parallel) makes value 6 a second time", 2, [](Instructions &all) {
    *all.Add() = all.Get(1);
    for (int i = all.size() - 1; i > 2; --i)
      all.SwapElements(i, i - 1);
  });
}

namespace {

/// A weight in pieces over dp is gathered and used in two parts, whose gradients are packed and scattered; then the
/// same for a second weight, in the same bytes.
plan::Plan bucketPlan() {
  PlanBuilder b(2, 1, 1, 1);
  uint32_t dp = b.group({"dp"});
  uint32_t fwd = b.segment(0, "forward", plan::Segment::FORWARD),
           bwd = b.segment(0, "backward", plan::Segment::BACKWARD);
  uint32_t flat = b.buffer(0, "flat", plan::Region::SCRATCH, plan::F64, {4}),
           piece = b.buffer(0, "piece", plan::Region::SCRATCH, plan::F64, {2}),
           out = b.buffer(0, "out", plan::Region::SCRATCH, plan::F64, {});
  uint32_t parts[2];
  for (int i : {0, 1})
    parts[i] = b.buffer(0, i == 0 ? "left" : "right", plan::Region::SCRATCH, plan::F64, {2});
  enum : uint32_t { cut, gathered, partial, number };
  for (uint32_t w : {0, 1}) {
    std::string name = "w" + std::to_string(w);
    uint32_t value = 10 * (w + 1);
    uint32_t weight = b.variable(0, name, plan::Variable::PARAMETER, plan::F64, {4}, {{"dp"}}).buffer();
    uint32_t grad = b.variable(0, name + ".grad", plan::Variable::GRADIENT, plan::F64, {4}, {{"dp"}}).buffer();
    describe(b.collective(0, fwd, plan::Instruction::ALL_GATHER, dp, weight, flat), {{cut, 0}, {gathered, value}});
    describe(b.kernel(0, fwd, "use", {parts[0], parts[1]}, {out}),
             {{gathered, value}, {gathered, value}, {number, value + 1}});
    describe(b.instruction(0, fwd, plan::Instruction::OUTPUT, "norm", {out}, {}), {{number, value + 1}});
    describe(b.kernel(0, bwd, "wgrad", {}, {parts[0]}), {{partial, value + 2}});
    describe(b.kernel(0, bwd, "wgrad", {}, {parts[1]}), {{partial, value + 2}});
    describe(b.collective(0, bwd, plan::Instruction::REDUCE_SCATTER, dp, flat, piece),
             {{partial, value + 2}, {cut, value + 3}});
    plan::Instruction &add = b.kernel(0, bwd, "add", {piece}, {grad});
    describe(add, {{cut, value + 3}, {cut, 0}});
  }
  b.run(0, fwd, 0);
  b.run(0, bwd, 0);
  plan::Plan plan = b.build();
  for (int i : {0, 1}) {
    plan::Buffer &part = *plan.mutable_stages(0)->mutable_buffers(static_cast<int>(parts[i]));
    part.set_offset_bytes(plan.stages(0).buffers(static_cast<int>(flat)).offset_bytes() + 16 * i);
  }
  addLayout(plan, {{"dp"}}, {});
  addLayout(plan, {{}}, {});
  addLayout(plan, {{}}, {"dp"});
  addLayout(plan, {}, {});
  return plan;
}

void expectBucketProblem(const std::string &text, int segment, const std::function<void(Instructions &)> &damage) {
  plan::Plan plan = bucketPlan();
  damage(*plan.mutable_stages(0)->mutable_segments(segment)->mutable_instructions());
  std::string found;
  for (const std::string &problem : runtime::findPlanProblems(plan))
    found += problem + "\n";
  EXPECT_NE(found.find(text), std::string::npos) << "expected: " << text << "\nfound: " << found;
}

} // namespace

// The bytes still hold the first bucket where the second is missing.
TEST(CheckLayouts, Buckets) {
  std::vector<std::string> problems = runtime::findPlanProblems(bucketPlan());
  EXPECT_TRUE(problems.empty()) << problems.front();
  expectBucketProblem("(use) takes 'left' for value 20, but value 10 was written there last, as 'flat'", 0,
                      [](Instructions &all) { drop(all, 3); });
  expectBucketProblem("(all_gather) makes value 20 a second time", 0, [](Instructions &all) {
    *all.Add() = all.Get(3);
    for (int i = all.size() - 1; i > 4; --i)
      all.SwapElements(i, i - 1);
  });
  expectBucketProblem("(reduce_scatter sum) takes 'flat' for value 22, but value 12 was written there last, as 'right'",
                      1, [](Instructions &all) { drop(all, 5); });
  expectBucketProblem("(add) takes 'piece' for value 23, but value 13 was written there last", 1,
                      [](Instructions &all) { drop(all, 6); });
  expectBucketProblem("(reduce_scatter sum) makes value 13, which no instruction reads", 1,
                      [](Instructions &all) { drop(all, 3); });
}

// Whatever a file says, the check ends with an answer.
TEST(CheckLayouts, SurvivesDamage) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 2000; ++i) {
    plan::Plan plan = typedPlan();
    damageRandomField(plan, random);
    runtime::findPlanProblems(plan);
  }
}
