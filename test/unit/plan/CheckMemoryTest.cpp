//===- CheckMemoryTest.cpp - refusals: mesh, regions, variables -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each case damages one thing of a valid plan and expects the message that names it.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/Error.h"
#include "test/unit/plan/ExpectProblem.h"

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

static plan::StageProgram &stage(plan::Plan &plan, int index) {
  return *plan.mutable_stages(index);
}

TEST(CheckPlan, TinyPipelineIsValid) {
  for (auto [dp, tp, microBatches] : {std::tuple(1, 1, 1), std::tuple(2, 2, 3), std::tuple(3, 4, 5)})
    EXPECT_EQ(findPlanProblems(tinyPipeline(dp, tp, microBatches)), std::vector<std::string>());
}

TEST(CheckPlan, ThrowsTheFirstProblemAndCountsTheRest) {
  plan::Plan plan = tinyPipeline();
  plan.mutable_training()->set_vocabulary(0);
  plan.mutable_training()->set_sequence_length(-4);
  try {
    checkPlan(plan);
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "invalid plan: training shape: sequence_length is -4, it must be at least 1 (and 1 more)");
  }
}

TEST(CheckPlan, Mesh) {
  expectProblem("format version 9, but this build reads 2", [](plan::Plan &p) { p.set_format_version(9); });
  expectProblem("mesh axis 'cp' is unknown: the axes are 'dp_replica', 'dp', 'pp', 'tp' and 'tp_inner'",
                [](plan::Plan &p) { p.mutable_mesh()->mutable_axes(0)->set_name("cp"); });
  expectProblem("mesh axis 'tp' is listed twice",
                [](plan::Plan &p) { p.mutable_mesh()->mutable_axes(0)->set_name("tp"); });
  expectProblem("mesh axis 'dp' has size 0", [](plan::Plan &p) { p.mutable_mesh()->mutable_axes(0)->set_size(0); });
  expectProblem("more than 1048576 ranks at axis 'pp'",
                [](plan::Plan &p) { p.mutable_mesh()->mutable_axes(0)->set_size(1 << 20); });
  expectProblem("2 stage programs, but mesh axis 'pp' has size 3",
                [](plan::Plan &p) { p.mutable_mesh()->mutable_axes(1)->set_size(3); });
  expectProblem("stage program 1 says it is stage 0", [](plan::Plan &p) { stage(p, 1).set_stage(0); });
}

TEST(CheckPlan, Regions) {
  expectProblem("stage 0 has an arena of -1 bytes", [](plan::Plan &p) { stage(p, 0).set_arena_bytes(-1); });
  expectProblem("stage 0, region 0 has the unknown kind 0",
                [](plan::Plan &p) { stage(p, 0).mutable_regions(0)->clear_kind(); });
  expectProblem("region 1 (GRADIENTS) has 3 slots, but only ACTIVATIONS, PAGES and LEAVES may",
                [](plan::Plan &p) { stage(p, 0).mutable_regions(1)->set_slots(3); });
  expectProblem("region 0 (PARAMETERS) has offset 8 and slot size 64, both must be multiples of 64",
                [](plan::Plan &p) { stage(p, 0).mutable_regions(0)->set_offset_bytes(8); });
  expectProblem("ends beyond the arena of", [](plan::Plan &p) { stage(p, 1).mutable_regions(3)->set_slots(1000); });
  expectProblem("ends beyond the arena of",
                [](plan::Plan &p) { stage(p, 0).mutable_regions(3)->set_slots(INT64_MAX); });
  expectProblem("region 1 (GRADIENTS) starts at 0, within region 0 (PARAMETERS), which ends at 64",
                [](plan::Plan &p) { stage(p, 0).mutable_regions(1)->set_offset_bytes(0); });
  expectProblem("bytes, but its regions end at",
                [](plan::Plan &p) { stage(p, 0).set_arena_bytes(stage(p, 0).arena_bytes() + 64); });
  expectProblem("65 peak live bytes in slots of 64",
                [](plan::Plan &p) { stage(p, 0).mutable_regions(0)->set_peak_live_bytes(65); });
}

TEST(CheckPlan, Buffers) {
  expectProblem("buffer 2 'w.grad' has the unknown dtype 0",
                [](plan::Plan &p) { bufferNamed(p, 0, "w.grad").clear_dtype(); });
  expectProblem("'x' has the impossible shape [4, 0] f64", [](plan::Plan &p) { bufferNamed(p, 0, "x").add_shape(0); });
  expectProblem("'x' has the impossible shape",
                [](plan::Plan &p) { bufferNamed(p, 0, "x").set_shape(0, INT64_MAX / 2); });
  expectProblem("'x' has 7 dimensions, at most 6", [](plan::Plan &p) {
    for (int i = 0; i < 6; ++i)
      bufferNamed(p, 0, "x").add_shape(1);
  });
  expectProblem("'x' lies in region 99, but the stage has 6 regions",
                [](plan::Plan &p) { bufferNamed(p, 0, "x").set_region(99); });
  expectProblem("'x' at offset 64 with 32 bytes ends beyond region 3 (ACTIVATIONS) of 64 bytes",
                [](plan::Plan &p) { bufferNamed(p, 0, "x").set_offset_bytes(64); });
  expectProblem("ends beyond region", [](plan::Plan &p) { bufferNamed(p, 0, "x").set_offset_bytes(-8); });
  expectProblem("ends beyond region", [](plan::Plan &p) { bufferNamed(p, 0, "x").set_offset_bytes(INT64_MAX); });
  expectProblem("is at offset 4, which is not a multiple of its element size 8",
                [](plan::Plan &p) { bufferNamed(p, 0, "x").set_offset_bytes(4); });
}

static plan::Variable &weight(plan::Plan &plan) {
  return *stage(plan, 0).mutable_variables(0);
}

/// 'w' and 'w.grad' become moments in one flat tensor cut over dp: 8 local elements each of 32.
static void makeFlat(plan::Plan &plan) {
  plan::Buffer &buffer = *stage(plan, 0).mutable_buffers(static_cast<int>(weight(plan).buffer()));
  plan::Buffer grad = bufferNamed(plan, 0, "w.grad");
  buffer.mutable_shape()->Clear();
  buffer.add_shape(*runtime::tensorBytes(grad.dtype(), grad.shape()) / runtime::elementBytes(grad.dtype()));
  for (int i : {0, 1}) {
    plan::Variable &variable = *stage(plan, 0).mutable_variables(i);
    variable.set_role(plan::Variable::PARAMETER);
    variable.set_buffer(weight(plan).buffer());
    variable.mutable_partial_axes()->Clear();
    variable.mutable_flat()->add_axes("dp");
    variable.mutable_flat()->set_first_element(i * buffer.shape(0));
  }
}

static plan::FlatPart &flatOf(plan::Plan &plan, int index) {
  return *stage(plan, 0).mutable_variables(index)->mutable_flat();
}

TEST(CheckPlan, FlatVariables) {
  auto expectFlatProblem = [](const std::string &text, const std::function<void(plan::Plan &)> &damage) {
    expectProblem(text, [&](plan::Plan &p) {
      makeFlat(p);
      damage(p);
    });
  };
  expectFlatProblem("variables 'w' and 'w.grad' overlap in the flat tensor of buffer",
                    [](plan::Plan &p) { flatOf(p, 1).set_first_element(flatOf(p, 1).first_element() - 1); });
  expectFlatProblem("elements from 100000 on in a flat tensor of",
                    [](plan::Plan &p) { flatOf(p, 1).set_first_element(100000); });
  expectFlatProblem("elements from -1 on in a flat tensor of",
                    [](plan::Plan &p) { flatOf(p, 0).set_first_element(-1); });
  expectFlatProblem("variable 'w' uses axis 'tp' twice", [](plan::Plan &p) { flatOf(p, 0).set_axes(0, "tp"); });
  expectFlatProblem("variable 'w' is spread over axis 'pp'", [](plan::Plan &p) { flatOf(p, 0).set_axes(0, "pp"); });
  expectFlatProblem("global dimension 0 is 5 over 2 ranks", [](plan::Plan &p) { weight(p).set_global_shape(0, 5); });
  expectFlatProblem("share buffer 'w', but are cut over different axes",
                    [](plan::Plan &p) { flatOf(p, 0).clear_axes(); });
  expectFlatProblem("variables 'w' and 'w.grad' overlap in region 0 (PARAMETERS)",
                    [](plan::Plan &p) { stage(p, 0).mutable_variables(1)->clear_flat(); });
}

TEST(CheckPlan, Variables) {
  expectProblem("stage 0, variable 'w' lies in buffer 77, but the stage has",
                [](plan::Plan &p) { weight(p).set_buffer(77); });
  expectProblem("variable 'w', a MOMENT1, lies in a region of kind PARAMETERS, it belongs in OPTIMIZER",
                [](plan::Plan &p) { weight(p).set_role(plan::Variable::MOMENT1); });
  expectProblem("variable 'w' has the unknown role 0", [](plan::Plan &p) { weight(p).clear_role(); });
  expectProblem("global dimension 0 is 5 over 2 ranks, but the buffer holds 2",
                [](plan::Plan &p) { weight(p).set_global_shape(0, 5); });
  expectProblem("has 2 global dimensions and 1 shardings", [](plan::Plan &p) { weight(p).add_global_shape(1); });
  expectProblem("variable 'w' is spread over axis 'pp'",
                [](plan::Plan &p) { weight(p).mutable_dims(0)->set_axes(0, "pp"); });
  expectProblem("variable 'w' uses axis 'tp' twice", [](plan::Plan &p) { weight(p).add_partial_axes("tp"); });
  expectProblem("variable 'w' has no initializer", [](plan::Plan &p) { weight(p).clear_initializer(); });
  expectProblem("starts from random values, but names no key",
                [](plan::Plan &p) { weight(p).mutable_initializer()->set_kind(plan::Initializer::NORMAL); });
  expectProblem("two variables named 'w'", [](plan::Plan &p) {
    plan::Variable copy = weight(p);
    bufferNamed(p, 0, "w.grad").set_region(0);
    bufferNamed(p, 0, "w.grad").set_offset_bytes(32);
    copy.set_buffer(2);
    copy.set_owner(false);
    *stage(p, 0).mutable_variables(1) = copy;
  });
  expectProblem("variables 'w' and 'w.grad' overlap in region 0 (PARAMETERS)", [](plan::Plan &p) {
    stage(p, 0).mutable_variables(1)->set_role(plan::Variable::PARAMETER);
    stage(p, 0).mutable_variables(1)->set_buffer(weight(p).buffer());
  });
  expectProblem("variable 'w' has 0 owner stages", [](plan::Plan &p) { weight(p).set_owner(false); });
}

/// Both flat variables, of 4 elements each, become parts of a tensor 't' of 8.
static void makeWindows(plan::Plan &plan) {
  makeFlat(plan);
  for (int i : {0, 1}) {
    plan::Window &window = *stage(plan, 0).mutable_variables(i)->mutable_window();
    window.set_name("t");
    window.set_parameter("t");
    window.add_shape(8);
    window.add_at(4 * i);
    stage(plan, 0).mutable_variables(i)->set_parameter("t");
  }
}

static plan::Window &windowOf(plan::Plan &plan, int index) {
  return *stage(plan, 0).mutable_variables(index)->mutable_window();
}

TEST(CheckPlan, Windows) {
  auto expectWindowProblem = [](const std::string &text, const std::function<void(plan::Plan &)> &damage) {
    expectProblem(text, [&](plan::Plan &p) {
      makeWindows(p);
      damage(p);
    });
  };
  expectWindowProblem("variable 'w' is a window on a tensor without a name or parameter",
                      [](plan::Plan &p) { windowOf(p, 0).clear_parameter(); });
  expectWindowProblem("variable 'w' is a window of 2 sizes at 1 places, but has 1 dimensions",
                      [](plan::Plan &p) { windowOf(p, 0).add_shape(1); });
  expectWindowProblem("variable 'w' is a window that begins at 8 of dimension 0 of 8",
                      [](plan::Plan &p) { windowOf(p, 0).set_at(0, 8); });
  expectWindowProblem("variable 'w' is a window that begins at -1 of dimension 0 of 8",
                      [](plan::Plan &p) { windowOf(p, 0).set_at(0, -1); });
  expectWindowProblem("variable 'w' is a window on a tensor whose bytes overflow",
                      [](plan::Plan &p) { windowOf(p, 0).set_shape(0, INT64_MAX); });
  expectWindowProblem("variables 'w' and 'w.grad' both have elements of 't'",
                      [](plan::Plan &p) { windowOf(p, 1).set_at(0, 3); });
  expectWindowProblem("the variables that are windows on 't' have 7 of its 8 elements",
                      [](plan::Plan &p) { windowOf(p, 1).set_at(0, 5); });
  expectWindowProblem(
      "variables 'w' and 'w.grad' are windows on 't', but differ in its shape, dtype, role or parameter",
      [](plan::Plan &p) { windowOf(p, 1).set_shape(0, 9); });
}
