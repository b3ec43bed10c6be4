//===- CheckProgramTest.cpp - refusals: instructions and schedule -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each case damages one thing of a valid plan and expects the message that names
// its place. Segments: 0 begin, 1 forward, 2 backward, 3 update.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/ExpectProblem.h"
#include "test/unit/plan/PlanBuilder.h"

#include <limits>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

TEST(CheckPlan, InstructionOperands) {
  expectProblem("stage 0, segment 'forward', instruction 2 (add, tiny.mlir:7:3 add): input 1 is buffer 99, but the "
                "stage has",
                [](plan::Plan &p) { at(p, 0, 1, 2).set_inputs(1, 99); });
  expectProblem("output 0 is buffer 4294967295", [](plan::Plan &p) { at(p, 0, 1, 2).set_outputs(0, UINT32_MAX); });
  expectProblem("instruction 2 (instruction kind 0", [](plan::Plan &p) { at(p, 0, 1, 2).clear_kind(); });
  expectProblem("location is 9, but the plan has 2", [](plan::Plan &p) { at(p, 0, 1, 2).set_location(9); });
  expectProblem("has a cost with bytes_read -5, it must be 0 or more",
                [](plan::Plan &p) { at(p, 0, 1, 2).mutable_cost()->set_bytes_read(-5); });
  expectProblem("names no kernel", [](plan::Plan &p) { at(p, 0, 1, 2).clear_opcode(); });
  expectProblem("has 0 inputs and 2 outputs, expected 0 and 1", [](plan::Plan &p) { at(p, 0, 1, 0).add_outputs(0); });
  expectProblem("overlaps input 0 'x.part' in part", [](plan::Plan &p) {
    bufferNamed(p, 0, "y").set_offset_bytes(bufferNamed(p, 0, "x.part").offset_bytes() + 8);
  });
  expectProblem("input 0 is [4] f64, expected a scalar", [](plan::Plan &p) {
    p.mutable_stages(1)->mutable_segments(3)->mutable_instructions(1)->set_inputs(0, at(p, 1, 1, 0).outputs(0));
  });
}

/// The tiny pipeline with a workspace of 64 words behind its arena, for instruction 2 of the forward.
static plan::Plan withWorkspace() {
  plan::Plan plan = tinyPipeline();
  plan::StageProgram &stage = *plan.mutable_stages(0);
  plan::Region &region = *stage.add_regions();
  region.set_kind(plan::Region::WORKSPACE);
  region.set_offset_bytes((stage.arena_bytes() + 255) / 256 * 256);
  region.set_slot_bytes(256);
  region.set_peak_live_bytes(256);
  region.set_slots(1);
  stage.set_arena_bytes(region.offset_bytes() + 256);
  plan::Buffer &buffer = *stage.add_buffers();
  buffer.set_name("workspace");
  buffer.set_region(static_cast<uint32_t>(stage.regions_size() - 1));
  buffer.set_dtype(plan::I32);
  buffer.add_shape(64);
  at(plan, 0, 1, 2).set_workspace(static_cast<uint32_t>(stage.buffers_size() - 1));
  return plan;
}

/// Nothing but kernels of the compute stream, one after the other, may write a workspace.
TEST(CheckPlan, Workspaces) {
  EXPECT_EQ(findPlanProblems(withWorkspace()), std::vector<std::string>());
  auto expectRefused = [](const std::string &what, auto damage) {
    plan::Plan plan = withWorkspace();
    damage(plan, *plan.mutable_stages(0), static_cast<uint32_t>(plan.stages(0).buffers_size() - 1));
    std::vector<std::string> problems = findPlanProblems(plan);
    ASSERT_FALSE(problems.empty()) << what;
    EXPECT_NE(problems[0].find(what), std::string::npos) << problems[0];
  };
  expectRefused("workspace is buffer 99, but the stage has ",
                [](auto &plan, auto &, uint32_t) { at(plan, 0, 1, 2).set_workspace(99); });
  expectRefused("'x.part', which lies in region ",
                [](auto &plan, auto &, uint32_t) { at(plan, 0, 1, 2).set_workspace(at(plan, 0, 1, 1).outputs(0)); });
  expectRefused("is no kernel, but has a workspace",
                [](auto &plan, auto &, uint32_t buffer) { at(plan, 0, 1, 3).set_workspace(buffer); });
  expectRefused("'workspace', which lies in the WORKSPACE of kernels",
                [](auto &plan, auto &, uint32_t buffer) { at(plan, 0, 1, 2).set_outputs(0, buffer); });
  expectRefused("at byte ", [](auto &, auto &stage, uint32_t buffer) {
    stage.mutable_buffers(static_cast<int>(buffer))->set_offset_bytes(64);
    stage.mutable_buffers(static_cast<int>(buffer))->set_shape(0, 48);
  });
  expectRefused("(WORKSPACE) has 2 slots",
                [](auto &, auto &stage, uint32_t) { stage.mutable_regions(stage.regions_size() - 1)->set_slots(2); });
  expectRefused("(WORKSPACE) starts at", [](auto &, auto &stage, uint32_t) {
    plan::Region &region = *stage.mutable_regions(stage.regions_size() - 1);
    region.set_offset_bytes(0);
  });
  expectRefused("(WORKSPACE) is a second one", [](auto &, auto &stage, uint32_t) {
    plan::Region copy = stage.regions(stage.regions_size() - 1);
    copy.set_offset_bytes(copy.offset_bytes() + 256);
    *stage.add_regions() = copy;
    stage.set_arena_bytes(stage.arena_bytes() + 256);
  });
}

TEST(CheckPlan, ModelFlops) {
  for (double flops : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    expectProblem("training shape: model_flops_per_step is ",
                  [=](plan::Plan &p) { p.mutable_training()->set_model_flops_per_step(flops); });
}

TEST(CheckPlan, Attributes) {
  expectProblem("attribute 'value' has no value",
                [](plan::Plan &p) { at(p, 0, 0, 0).mutable_attributes(0)->clear_value(); });
  expectProblem("axis offset 'offset' names the unknown axis 'cp'",
                [](plan::Plan &p) { at(p, 0, 1, 1).mutable_axis_offsets(0)->set_axes(0, "cp"); });
  expectProblem("axis offset 'offset' overflows",
                [](plan::Plan &p) { at(p, 0, 1, 1).mutable_axis_offsets(0)->set_stride(INT64_MAX); });
  expectProblem("attribute 'dim' is given twice",
                [](plan::Plan &p) { at(p, 0, 1, 1).mutable_axis_offsets(0)->set_name("dim"); });
}

TEST(CheckPlan, Collectives) {
  expectProblem("group is 8, but the plan has 3 groups", [](plan::Plan &p) { at(p, 0, 1, 3).set_group(8); });
  expectProblem("dim is 1, but the input has 1 dimensions", [](plan::Plan &p) { at(p, 0, 1, 3).set_dim(1); });
  expectProblem("output is [4] f64, expected [16] f64 from input [2] f64 over 8 ranks",
                [](plan::Plan &p) { at(p, 0, 1, 3).set_group(2); });
  expectProblem("reduces by 'mean'", [](plan::Plan &p) { at(p, 0, 3, 0).set_opcode("mean"); });
  expectProblem("group 0 spans axis 'ep'", [](plan::Plan &p) { p.mutable_groups(0)->set_axes(0, "ep"); });
  expectProblem("group 0 lists stages, but 'pp' is not among its axes",
                [](plan::Plan &p) { p.mutable_groups(0)->add_stages(0); });
  expectProblem("group 2 lists stage 7, but there are 2", [](plan::Plan &p) { p.mutable_groups(2)->add_stages(7); });
  expectProblem("stage 1 is not a member of group 2", [](plan::Plan &p) { p.mutable_groups(2)->add_stages(0); });
}

TEST(CheckPlan, Messages) {
  expectProblem("channel 9 does not exist, the plan has 2", [](plan::Plan &p) { at(p, 0, 1, 4).set_channel(9); });
  expectProblem("goes from stage 0 to stage 1, but stage 0 sends to stage 0",
                [](plan::Plan &p) { at(p, 0, 1, 4).set_peer_stage(0); });
  expectProblem("goes from stage 1 to stage 0, but stage 0 sends to stage 1",
                [](plan::Plan &p) { at(p, 0, 1, 4).set_channel(1); });
  expectProblem("buffer is [2] f64, but channel 0 carries [4] f64",
                [](plan::Plan &p) { at(p, 0, 1, 4).set_inputs(0, at(p, 0, 1, 2).outputs(0)); });
  expectProblem("channel 0 has depth 5, but 2 receive buffers",
                [](plan::Plan &p) { p.mutable_channels(0)->set_depth(5); });
  expectProblem("channel 0 joins stage 0 to stage 5", [](plan::Plan &p) { p.mutable_channels(0)->set_to_stage(5); });
  expectProblem("message buffer overlaps", [](plan::Plan &p) {
    bufferNamed(p, 1, "channel0.message1").set_offset_bytes(bufferNamed(p, 1, "channel0.message0").offset_bytes());
  });
  expectProblem("does not lie in a COMMUNICATION region",
                [](plan::Plan &p) { bufferNamed(p, 1, "channel0.message1").set_region(plan::Region::SCRATCH - 1); });
  expectProblem("holds messages twice",
                [](plan::Plan &p) { p.mutable_channels(0)->set_receive_buffers(1, p.channels(0).receive_buffers(0)); });
}

// Sums that are not all trees would give other bits on another grid.
TEST(CheckPlan, OneOrderOfSums) {
  expectProblem("reduces by 'sum', but stage 0, segment 'update', instruction 0",
                [](plan::Plan &p) { at(p, 0, 3, 0).set_opcode("tree_sum"); });
  plan::Plan trees = tinyPipeline();
  for (plan::StageProgram &stage : *trees.mutable_stages())
    for (plan::Segment &segment : *stage.mutable_segments())
      for (plan::Instruction &instruction : *segment.mutable_instructions())
        if (instruction.opcode() == "sum")
          instruction.set_opcode("tree_sum");
  EXPECT_EQ(findPlanProblems(trees), std::vector<std::string>());
}

TEST(CheckPlan, KernelsAreJudgedByTheCallback) {
  std::vector<std::string> problems =
      findPlanProblems(tinyPipeline(), [](const plan::StageProgram &, const plan::Instruction &instruction) {
        return instruction.opcode() == "add" ? "unknown kernel 'add'" : "";
      });
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0], "stage 0, segment 'forward', instruction 2 (add, tiny.mlir:7:3 add): unknown kernel 'add'");
}

/// Puts y at an offset within z, and writes y once more just before z is sent.
static void writeBetween(plan::Plan &plan, int64_t offsetBytes) {
  bufferNamed(plan, 0, "y").set_offset_bytes(bufferNamed(plan, 0, "z").offset_bytes() + offsetBytes);
  plan::Segment &forward = *plan.mutable_stages(0)->mutable_segments(1);
  uint32_t z = forward.instructions(4).inputs(0);
  *forward.mutable_instructions(3) = forward.instructions(0); // z is an input, no all_gather of y
  forward.mutable_instructions(3)->set_outputs(0, z);
  *forward.add_instructions() = forward.instructions(2);
  forward.mutable_instructions()->SwapElements(4, 5);
}

TEST(CheckPlan, Dataflow) {
  expectProblem("stage 0, segment 'forward', instruction 2 (add, tiny.mlir:7:3 add): input 0 'x.part' is read, but its "
                "byte 0 of 16 was not written before in this segment",
                [](plan::Plan &p) { at(p, 0, 1, 1).set_outputs(0, at(p, 0, 1, 2).outputs(0)); });
  // Written only in part: the other half is a leftover.
  expectProblem("input 0 'z' is read, but its byte 16 of 32 was not written before in this segment", [](plan::Plan &p) {
    bufferNamed(p, 0, "y").set_offset_bytes(bufferNamed(p, 0, "z").offset_bytes());
    p.mutable_stages(0)->mutable_segments(1)->mutable_instructions()->DeleteSubrange(3, 1);
  });
  expectProblem(
      "stage 1, segment 'backward', instruction 0 (sum_squares): input 0 's' is read, but its byte 0 of 32 was "
      "not written before for this micro-batch",
      [](plan::Plan &p) { at(p, 1, 1, 1).set_outputs(0, at(p, 1, 1, 1).inputs(0)); });
  expectProblem("accumulated output 0 'y' is read",
                [](plan::Plan &p) { setAttribute(at(p, 0, 1, 2), "accumulate", int64_t(1)); });
  // A buffer that lives on is overwritten: from the side, from within, as another dtype.
  expectProblem("input 0 'z' is read, but 'y' has overwritten a part of it",
                [](plan::Plan &p) { writeBetween(p, 24); });
  expectProblem("input 0 'z' is read, but a smaller buffer has overwritten a part of it",
                [](plan::Plan &p) { writeBetween(p, 8); });
  expectProblem("input 0 'x.part' is read, but it was last written as 'y', [4] f32", [](plan::Plan &p) {
    bufferNamed(p, 0, "y").set_offset_bytes(bufferNamed(p, 0, "x.part").offset_bytes());
    bufferNamed(p, 0, "y").set_dtype(plan::F32);
    bufferNamed(p, 0, "y").set_shape(0, 4);
    at(p, 0, 1, 1).set_outputs(0, at(p, 0, 1, 2).outputs(0));
    at(p, 0, 1, 2).set_outputs(0, at(p, 0, 1, 4).inputs(0));
    p.mutable_stages(0)->mutable_segments(1)->mutable_instructions()->DeleteSubrange(3, 1);
  });
  expectProblem("'channel1.message0' is named, but it belongs to the messages of a channel",
                [](plan::Plan &p) { at(p, 0, 2, 0).set_outputs(0, p.channels(1).receive_buffers(0)); });
}

static plan::ScheduleEntry &entry(plan::Plan &plan, int stage, int index) {
  return *plan.mutable_stages(stage)->mutable_schedule(index);
}

// Stage 0 runs: begin F0 F1 B0 F2 B1 B2 update.
TEST(CheckPlan, Schedule) {
  expectProblem("stage 0, schedule entry 1 runs segment 9, but the stage has 4 segments",
                [](plan::Plan &p) { entry(p, 0, 1).set_segment(9); });
  expectProblem("schedule entry 2 (segment 'forward', micro-batch 0, slot 1) repeats entry 1",
                [](plan::Plan &p) { entry(p, 0, 2).set_micro_batch(0); });
  expectProblem("the step has 3 micro-batches", [](plan::Plan &p) { entry(p, 0, 2).set_micro_batch(3); });
  expectProblem("the stage has 2 activation slots", [](plan::Plan &p) { entry(p, 0, 2).set_slot(2); });
  expectProblem("global_batch is 7, but the micro-batches of a step hold",
                [](plan::Plan &p) { p.mutable_training()->set_global_batch(7); });
  expectProblem("global_batch is -1", [](plan::Plan &p) { p.mutable_training()->set_global_batch(-1); });
  expectProblem("segment 'forward' is scheduled 3 times per step, expected 4",
                [](plan::Plan &p) { p.mutable_training()->set_micro_batches(4); });
  expectProblem("is a BEGIN segment, but entry 0 before it is not",
                [](plan::Plan &p) { p.mutable_stages(0)->mutable_schedule()->SwapElements(0, 1); });
  expectProblem("is an UPDATE segment, but entry 7 after it is not",
                [](plan::Plan &p) { p.mutable_stages(0)->mutable_schedule()->SwapElements(6, 7); });
  expectProblem("its micro-batch must be -1 and its slot 0", [](plan::Plan &p) { entry(p, 0, 0).set_micro_batch(0); });
  expectProblem("comes before its forward, entry 2", [](plan::Plan &p) {
    p.mutable_stages(0)->mutable_schedule()->SwapElements(1, 3), entry(p, 0, 2).set_micro_batch(0),
        entry(p, 0, 3).set_micro_batch(1);
  });
  expectProblem("reads another slot than its forward wrote, slot 0 in entry 1",
                [](plan::Plan &p) { entry(p, 0, 3).set_slot(1); });
  expectProblem("takes the slot while micro-batch 0 is in flight in it until entry 3", [](plan::Plan &p) {
    entry(p, 0, 2).set_slot(0);
    entry(p, 0, 5).set_slot(0);
  });
}
