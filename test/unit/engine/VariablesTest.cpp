//===- VariablesTest.cpp - logical tensors and their copies -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A grid of 2 x 2 x 2 ranks: shards over one and both axes, addends, tied copies.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Job.h"
#include "runtime/plan/Error.h"
#include "test/unit/engine/ChangedVariables.h"
#include "test/unit/engine/TinyInputs.h"
#include "test/unit/plan/PlanBuilder.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {

/// Variables of several layouts, and an update that changes what a test asks for.
struct Layouts {
  PlanBuilder b{2, 2, 2, 1};
  uint32_t update[2];

  Layouts() {
    for (int stage = 0; stage < 2; ++stage)
      update[stage] = b.segment(stage, "update", plan::Segment::UPDATE);
    b.variable(0, "rows", plan::Variable::PARAMETER, plan::F32, {4, 3}, {{"tp"}, {}});
    b.variable(0, "columns", plan::Variable::PARAMETER, plan::F64, {3, 8}, {{}, {"tp", "dp"}});
    b.variable(1, "both", plan::Variable::MOMENT1, plan::F64, {2, 6}, {{"dp"}, {"tp"}});
    b.variable(1, "scalar", plan::Variable::METRIC, plan::F64, {}, {});
    b.variable(1, "addends", plan::Variable::GRADIENT, plan::F64, {4}, {{"tp"}}).add_partial_axes("dp");
    // Tied: sharded in stage 0, whole in stage 1.
    b.variable(0, "tied", plan::Variable::PARAMETER, plan::F64, {4}, {{"tp"}});
    b.variable(1, "tied", plan::Variable::PARAMETER, plan::F64, {4}, {{}}).set_owner(false);
    for (int stage = 0; stage < 2; ++stage)
      b.run(stage, update[stage]);
  }
};

} // namespace

TEST(Variables, WhatIsWrittenIsRead) {
  Job job(Layouts().b.build(), referenceOptions());
  EXPECT_EQ(job.variableNames(), (std::vector<std::string>{"addends", "both", "columns", "rows", "scalar", "tied"}));
  double first = 1;
  for (const std::string &name : job.variableNames()) {
    LogicalTensor value = counting(job, name, first += 100);
    job.writeVariable(name, value);
    EXPECT_EQ(job.readVariable(name).bytes, value.bytes) << name;
    EXPECT_EQ(job.readVariable(name).shape, value.shape) << name;
  }
  job.verifyCopiesEqual();
}

// Each rank cuts its part out of a whole tensor by an axis offset and stores it
// in its shard: assembling the shards must give the whole tensor back.
TEST(Variables, ShardsAndAxisOffsetsCutAlike) {
  PlanBuilder b(2, 1, 3, 1);
  uint32_t update = b.segment(0, "update", plan::Segment::UPDATE);
  uint32_t shard = b.variable(0, "w", plan::Variable::PARAMETER, plan::F64, {3, 12}, {{}, {"tp", "dp"}}).buffer();
  uint32_t whole = b.buffer(0, "whole", plan::Region::SCRATCH, plan::F64, {3, 12});
  b.instruction(0, update, plan::Instruction::INPUT, "whole", {}, {whole});
  plan::Instruction &slice = b.kernel(0, update, "slice", {whole}, {shard});
  setAttribute(slice, "dim", int64_t(1));
  plan::AxisOffset &offset = *slice.add_axis_offsets();
  offset.set_name("offset");
  offset.add_axes("tp");
  offset.add_axes("dp");
  offset.set_stride(2);
  b.run(0, update);

  class Counting final : public StepInputs {
    void fill(std::string_view, int64_t, int64_t, TensorView destination) override {
      for (int64_t i = 0; i < destination.elements(); ++i)
        storeElement(destination, static_cast<double>(i), i);
    }
  } inputs;
  Job job(b.build(), referenceOptions());
  job.runStep(inputs);
  std::vector<double> expected(36);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(numbersOf(job.readVariable("w")), expected);
}

TEST(Variables, NormalValuesDoNotDependOnTheGrid) {
  auto bytesOn = [](int64_t dp, int64_t tp, std::vector<Axes> dims) {
    PlanBuilder b(dp, 1, tp, 1);
    plan::Variable &variable = b.variable(0, "w", plan::Variable::PARAMETER, plan::F32, {6, 8}, dims);
    variable.mutable_initializer()->set_kind(plan::Initializer::NORMAL);
    variable.mutable_initializer()->set_stddev(0.02);
    variable.mutable_initializer()->set_key("w");
    Job job(b.build(), referenceOptions());
    job.initializeVariables();
    job.verifyCopiesEqual();
    return job.readVariable("w").bytes;
  };
  std::vector<std::byte> single = bytesOn(1, 1, {{}, {}});
  EXPECT_EQ(bytesOn(1, 2, {{"tp"}, {}}), single);
  EXPECT_EQ(bytesOn(2, 4, {{}, {"tp"}}), single);
  EXPECT_EQ(bytesOn(2, 2, {{"dp"}, {"tp"}}), single);
  EXPECT_EQ(bytesOn(3, 2, {{"tp", "dp"}, {}}), single);
}

TEST(Variables, AddendsAreSummed) {
  Layouts layouts;
  plan::Plan plan = layouts.b.build();
  uint32_t addends = 0;
  for (const plan::Variable &variable : plan.stages(1).variables())
    if (variable.name() == "addends")
      addends = variable.buffer();
  // Every dp rank adds 1 to its addend: the sum over dp = 2 grows by 2.
  uint32_t one = layouts.b.buffer(1, "one", plan::Region::SCRATCH, plan::F64, {2});
  setAttribute(layouts.b.kernel(1, layouts.update[1], "fill", {}, {one}), "value", 1.0);
  addTo(layouts.b, 1, layouts.update[1], one, addends);
  Job job(layouts.b.build(), referenceOptions());
  job.writeVariable("addends", counting(job, "addends", 10));
  TinyInputs inputs;
  job.runStep(inputs);
  EXPECT_EQ(numbersOf(job.readVariable("addends")), (std::vector<double>{12, 13, 14, 15}));
  job.verifyCopiesEqual();
}

TEST(Variables, ACopyThatDriftsIsFound) {
  Layouts layouts;
  plan::Plan plan = layouts.b.build();
  // Only stage 1 changes its copy of the tied weight.
  uint32_t one = layouts.b.buffer(1, "one", plan::Region::SCRATCH, plan::F64, {4});
  setAttribute(layouts.b.kernel(1, layouts.update[1], "fill", {}, {one}), "value", 1.0);
  for (const plan::Variable &variable : plan.stages(1).variables())
    if (variable.name() == "tied")
      addTo(layouts.b, 1, layouts.update[1], one, variable.buffer());
  Job job(layouts.b.build(), referenceOptions());
  job.initializeVariables();
  job.verifyCopiesEqual();
  TinyInputs inputs;
  job.runStep(inputs);
  EXPECT_EQ(errorOf([&] { job.verifyCopiesEqual(); }),
            "copies of variable 'tied' differ: local element 0 of rank 2 (dp 0, pp 1, tp 0) is 1.000000, but the first "
            "copy in stage 0 has 0.000000");
}

TEST(Variables, WrongNamesAndShapesAreRefused) {
  Job job(Layouts().b.build(), referenceOptions());
  EXPECT_EQ(errorOf([&] { job.readVariable("row"); }), "the plan has no variable 'row', the nearest name is 'rows'");
  LogicalTensor value = job.readVariable("rows");
  value.shape = {3, 4};
  EXPECT_NE(errorOf([&] { job.writeVariable("rows", value); }).find("variable 'rows' is [4, 3] f32 of 48 bytes"),
            std::string::npos);
  value = job.readVariable("columns");
  EXPECT_THROW(job.writeVariable("rows", value), Error);
}
