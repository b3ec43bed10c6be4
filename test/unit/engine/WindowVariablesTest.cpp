//===- WindowVariablesTest.cpp - variables that are windows on tensors ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Job.h"
#include "runtime/plan/Error.h"
#include "test/unit/engine/ChangedVariables.h"
#include "test/unit/engine/TinyInputs.h"
#include "test/unit/plan/PlanBuilder.h"

#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

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

TEST(WindowVariables, WindowsAreReadAndWrittenAsTheirTensors) {
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

TEST(WindowVariables, WindowsStartAsTheirTensors) {
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

TEST(WindowVariables, PaddingThatIsNotZeroIsFound) {
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
