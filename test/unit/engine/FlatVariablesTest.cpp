//===- FlatVariablesTest.cpp - variables in pieces of flat tensors ---*- C++ -*-===//
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
#include <map>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

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

TEST(FlatVariables, PiecesOfAFlatTensorAreLogicalTensors) {
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

TEST(FlatVariables, NormalValuesDoNotDependOnPieces) {
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
TEST(FlatVariables, APieceThatDriftsIsFound) {
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
