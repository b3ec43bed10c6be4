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
#include "test/unit/engine/TinyInputs.h"
#include "test/unit/plan/PlanBuilder.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {

plan::Instruction &addTo(PlanBuilder &b, int stage, uint32_t segment, uint32_t x, uint32_t to) {
  plan::Instruction &made = b.kernel(stage, segment, "accumulate", {x}, {to});
  setAttribute(made, "accumulate", int64_t(1));
  return made;
}

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

LogicalTensor counting(const Job &job, const std::string &name, double first) {
  LogicalTensor tensor = job.readVariable(name);
  for (int64_t i = 0; i < tensor.view().elements(); ++i)
    storeElement(tensor.view(), first + static_cast<double>(i), i);
  return tensor;
}

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

namespace {

/// A variable of which `buffer` holds a piece of the flat tensor it lies in.
plan::Variable &flatVariable(PlanBuilder &b, const std::string &name, uint32_t buffer, int64_t firstElement,
                             const Shape &globalShape, const std::vector<Axes> &dims) {
  plan::Variable &made = b.variable(0, name, plan::Variable::MOMENT1, plan::F64, globalShape, dims);
  made.set_buffer(buffer);
  made.mutable_flat()->set_first_element(firstElement);
  made.mutable_flat()->add_axes("dp");
  return made;
}

/// Three variables in a flat tensor of 27 elements a tp rank, cut over dp = 3: "a" ends in the first piece, "b" spans
/// all three, "c" is in the last alone. Elements 25 and 26 are padding.
PlanBuilder flatPlan() {
  PlanBuilder b(3, 1, 2, 1);
  uint32_t piece = b.buffer(0, "flat", plan::Region::OPTIMIZER, plan::F64, {1, 9});
  flatVariable(b, "a", piece, 0, {7}, {{}});
  flatVariable(b, "b", piece, 7, {5, 6}, {{}, {"tp"}});
  flatVariable(b, "c", piece, 22, {6}, {{"tp"}});
  b.run(0, b.segment(0, "update", plan::Segment::UPDATE));
  return b;
}

} // namespace

TEST(Variables, PiecesOfAFlatTensorAreLogicalTensors) {
  Job job(flatPlan().build(), referenceOptions());
  std::map<std::string, std::vector<std::byte>> expected;
  double first = 1;
  for (const std::string &name : job.variableNames()) {
    LogicalTensor value = counting(job, name, first += 100);
    job.writeVariable(name, value);
    expected[name] = value.bytes;
  }
  for (const auto &[name, bytes] : expected)
    EXPECT_EQ(job.readVariable(name).bytes, bytes) << name;
  job.verifyCopiesEqual();
}

TEST(Variables, NormalValuesDoNotDependOnPieces) {
  auto starting = [](plan::Plan plan) {
    for (plan::Variable &variable : *plan.mutable_stages(0)->mutable_variables()) {
      variable.mutable_initializer()->set_kind(plan::Initializer::NORMAL);
      variable.mutable_initializer()->set_stddev(0.5);
      variable.mutable_initializer()->set_key(variable.name());
    }
    Job job(plan, referenceOptions());
    job.initializeVariables();
    job.verifyCopiesEqual();
    std::map<std::string, std::vector<double>> values;
    for (const std::string &name : job.variableNames())
      values[name] = numbersOf(job.readVariable(name));
    return values;
  };
  PlanBuilder whole(1, 1, 1, 1);
  whole.variable(0, "a", plan::Variable::MOMENT1, plan::F64, {7}, {{}});
  whole.variable(0, "b", plan::Variable::MOMENT1, plan::F64, {5, 6}, {{}, {}});
  whole.variable(0, "c", plan::Variable::MOMENT1, plan::F64, {6}, {{}});
  whole.run(0, whole.segment(0, "update", plan::Segment::UPDATE));
  EXPECT_EQ(starting(flatPlan().build()), starting(whole.build()));
}

// "a" is whole on both tp ranks of a piece; one of them changes it.
TEST(Variables, APieceThatDriftsIsFound) {
  PlanBuilder b = flatPlan();
  plan::Plan plan = b.build();
  uint32_t add = b.buffer(0, "add", plan::Region::SCRATCH, plan::F64, {1, 9});
  uint32_t whole = b.buffer(0, "whole", plan::Region::SCRATCH, plan::F64, {1, 18});
  b.instruction(0, 0, plan::Instruction::INPUT, "x", {}, {whole});
  plan::Instruction &slice = b.kernel(0, 0, "slice", {whole}, {add});
  setAttribute(slice, "dim", int64_t(1));
  plan::AxisOffset &offset = *slice.add_axis_offsets();
  offset.set_name("offset");
  offset.add_axes("tp");
  offset.set_stride(9);
  addTo(b, 0, 0, add, plan.stages(0).variables(0).buffer());
  class Last final : public StepInputs {
    void fill(std::string_view, int64_t, int64_t, TensorView destination) override {
      for (int64_t i = 0; i < destination.elements(); ++i)
        storeElement(destination, i == 9 + 2 ? 1.0 : 0.0, i);
    }
  } inputs;
  Job job(b.build(), referenceOptions());
  job.initializeVariables();
  job.verifyCopiesEqual();
  job.runStep(inputs);
  EXPECT_EQ(errorOf([&] { job.verifyCopiesEqual(); }),
            "copies of variable 'a' differ: local element 2 of rank 1 (dp 0, pp 0, tp 1) is 1.000000, but the first "
            "copy in stage 0 has 0.000000");
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

namespace {

void setWindow(plan::Variable &variable, const std::string &tensor, const Shape &shape, const Shape &at) {
  plan::Window &window = *variable.mutable_window();
  window.set_name(tensor);
  window.set_parameter(tensor);
  window.mutable_shape()->Assign(shape.begin(), shape.end());
  window.mutable_at()->Assign(at.begin(), at.end());
}

/// "whole" in two parts, of 4 and 2 rows, and "short", of 5 rows held as 6.
PlanBuilder windowPlan() {
  PlanBuilder b(1, 1, 2, 1);
  setWindow(b.variable(0, "upper", plan::Variable::PARAMETER, plan::F64, {4, 3}, {{"tp"}, {}}), "whole", {6, 3},
            {0, 0});
  setWindow(b.variable(0, "lower", plan::Variable::PARAMETER, plan::F64, {2, 3}, {{"tp"}, {}}), "whole", {6, 3},
            {4, 0});
  setWindow(b.variable(0, "padded", plan::Variable::PARAMETER, plan::F64, {6, 2}, {{"tp"}, {}}), "short", {5, 2},
            {0, 0});
  return b;
}

} // namespace

TEST(Variables, WindowsAreReadAndWrittenAsTheirTensors) {
  PlanBuilder b = windowPlan();
  b.run(0, b.segment(0, "update", plan::Segment::UPDATE));
  Job job(b.build(), referenceOptions());
  job.initializeVariables();
  EXPECT_EQ(job.variableNames(), (std::vector<std::string>{"short", "whole"}));
  EXPECT_EQ(job.variable("whole").name(), "whole");
  EXPECT_EQ(job.readVariable("whole").shape, (std::vector<int64_t>{6, 3}));
  EXPECT_EQ(job.readVariable("short").shape, (std::vector<int64_t>{5, 2}));
  for (const char *name : {"short", "whole"}) {
    LogicalTensor value = counting(job, name, 7);
    job.writeVariable(name, value);
    EXPECT_EQ(job.readVariable(name).bytes, value.bytes) << name;
  }
  job.verifyCopiesEqual();
  EXPECT_EQ(errorOf([&] { job.readVariable("upper"); }).substr(0, 34), "the plan has no variable 'upper', ");
}

TEST(Variables, WindowsStartAsTheirTensors) {
  auto normal = [](plan::Variable &variable, const char *key) {
    variable.mutable_initializer()->set_kind(plan::Initializer::NORMAL);
    variable.mutable_initializer()->set_stddev(0.5);
    variable.mutable_initializer()->set_key(key);
  };
  PlanBuilder windows = windowPlan(), plain(1, 1, 1, 1);
  windows.run(0, windows.segment(0, "update", plan::Segment::UPDATE));
  plan::Plan plan = windows.build();
  for (plan::Variable &variable : *plan.mutable_stages(0)->mutable_variables())
    normal(variable, variable.window().name().c_str());
  normal(plain.variable(0, "whole", plan::Variable::PARAMETER, plan::F64, {6, 3}, {{}, {}}), "whole");
  normal(plain.variable(0, "short", plan::Variable::PARAMETER, plan::F64, {5, 2}, {{}, {}}), "short");
  plain.run(0, plain.segment(0, "update", plan::Segment::UPDATE));
  Job job(plan, referenceOptions()), expected(plain.build(), referenceOptions());
  job.initializeVariables();
  expected.initializeVariables();
  for (const char *name : {"short", "whole"})
    EXPECT_EQ(job.readVariable(name).bytes, expected.readVariable(name).bytes) << name;
  job.verifyCopiesEqual();
}

TEST(Variables, PaddingThatIsNotZeroIsFound) {
  PlanBuilder b = windowPlan();
  uint32_t update = b.segment(0, "update", plan::Segment::UPDATE), padded = 2;
  setAttribute(b.kernel(0, update, "fill", {}, {padded}), "value", 1.0);
  b.run(0, update);
  Job job(b.build(), referenceOptions());
  job.initializeVariables();
  job.verifyCopiesEqual();
  class Nothing final : public StepInputs {
    void fill(std::string_view, int64_t, int64_t, TensorView) override {}
  } inputs;
  job.runStep(inputs);
  EXPECT_EQ(
      errorOf([&] { job.verifyCopiesEqual(); }),
      "copies of variable 'padded' differ: local element 4 of rank 1 (dp 0, pp 0, tp 1) is 1.000000, but the first "
      "copy in stage 0 has 0.000000");
}
