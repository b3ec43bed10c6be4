//===- PlanEmitterTest.cpp - plan dialect to plan.proto ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that uses every op of the dialect, field by field; the plan checker must
// accept what is emitted.
//
//===----------------------------------------------------------------------===//
#include "compiler/emit/PlanEmitter.h"
#include "mlir/Parser/Parser.h"
#include "runtime/plan/CheckPlan.h"

#include <gtest/gtest.h>

using namespace tgpt;

static constexpr const char *twoStages = R"mlir(
#line = loc("some/folder/model.mlir":42:5)
module {
plan.program @small mesh (pp = 2, tp = 2) training <sequence_length = 4, samples = 2, micro_batches = 1, vocabulary = 6, parameters = 12, flops_per_micro_batch = 1000, compute = f32> seed 7 options "--tp=2" {
  plan.group @tp over ["tp"]
  plan.group @stages over ["pp"] stages [0, 1]
  plan.channel @c from 0 to 1 depth 1 : !plan.buffer<2x4x2xf32>
  plan.stage 0 arena 384 {
    plan.region parameters slots 1 at 0 holds 64 live 24
    plan.region scratch slots 1 at 64 holds 320 live 96
    %w = plan.buffer "w" in parameters at 0 : !plan.buffer<3x2xf32>
    %t = plan.buffer "tokens" in scratch at 0 : !plan.buffer<2x4xi32>
    %x = plan.buffer "x" in scratch at 256 : !plan.buffer<2x4x2xf32>
    plan.variable parameter "w" of "w" in %w layout <[tp, -], of = [6, 2]> init <value = 1.0 : f64, stddev = 0.5 : f64, key = "w"> owner : !plan.buffer<3x2xf32>
    plan.segment forward "forward" {
      plan.input "tokens" into %t : !plan.buffer<2x4xi32>
      plan.kernel "embedding"(%t, %w) -> (%x) {exact = true, name = "n", scale = 0.5 : f64, vocab_offset = #plan.axis_offset<["tp"], stride = 3>} cost <flops = 1, bytes_read = 2, bytes_written = 3, work = attention> : (!plan.buffer<2x4xi32>, !plan.buffer<3x2xf32>) -> !plan.buffer<2x4x2xf32> loc(#line)
      plan.collective all_reduce_sum %x to %x over @tp cost <flops = 4, bytes_read = 5, bytes_written = 6> : !plan.buffer<2x4x2xf32> to !plan.buffer<2x4x2xf32> loc("layers.0"(#line))
      plan.send %x on @c : !plan.buffer<2x4x2xf32>
    }
    plan.segment backward "backward" {
    }
    plan.schedule [warm_up "forward" 0 in 0 sends [@c], cool_down "backward" 0 in 0]
  }
  plan.stage 1 arena 320 {
    plan.region gradients slots 1 at 0 holds 64 live 4
    plan.region communication slots 1 at 64 holds 64 live 64
    plan.region scratch slots 1 at 128 holds 192 live 96
    %s = plan.buffer "loss_sum" in gradients at 0 : !plan.buffer<f32>
    %m = plan.buffer "message" in communication at 0 : !plan.buffer<2x4x2xf32>
    %x = plan.buffer "x" in scratch at 0 : !plan.buffer<2x4x2xf32>
    %p = plan.buffer "piece" in scratch at 64 : !plan.buffer<1x4x2xf32>
    %y = plan.buffer "whole" in scratch at 128 : !plan.buffer<2x4x2xf32>
    plan.messages @c in %m : !plan.buffer<2x4x2xf32>
    plan.variable metric "loss_sum" in %s layout <[], partial = [tp], of = []> init <value = 0.0 : f64> owner : !plan.buffer<f32>
    plan.segment forward "forward" {
      plan.recv @c into %x : !plan.buffer<2x4x2xf32>
      plan.collective reduce_scatter %x to %p over @tp dim 0 cost <flops = 0, bytes_read = 0, bytes_written = 0> : !plan.buffer<2x4x2xf32> to !plan.buffer<1x4x2xf32>
      plan.collective all_gather %p to %y over @tp dim 0 cost <flops = 0, bytes_read = 0, bytes_written = 0> : !plan.buffer<1x4x2xf32> to !plan.buffer<2x4x2xf32>
    }
    plan.segment backward "backward" {
    }
    plan.segment update "update" {
      plan.output %s as "loss" : !plan.buffer<f32>
    }
    plan.schedule [steady "forward" 0 in 0 receives [@c], steady "backward" 0 in 0, "update"]
  }
}
}
)mlir";

class PlanEmitterTest : public ::testing::Test {
protected:
  PlanEmitterTest() { context.loadDialect<planir::PlanDialect>(); }

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  plan::Plan emitted() {
    mlir::OwningOpRef<mlir::ModuleOp> module = parse(twoStages);
    EXPECT_TRUE(module);
    mlir::FailureOr<plan::Plan> plan = emitPlan(*module);
    EXPECT_TRUE(mlir::succeeded(plan));
    return mlir::succeeded(plan) ? *plan : plan::Plan();
  }

  mlir::MLIRContext context;
};

TEST_F(PlanEmitterTest, CheckerAcceptsThePlan) {
  for (const std::string &problem : runtime::findPlanProblems(emitted()))
    ADD_FAILURE() << problem;
}

TEST_F(PlanEmitterTest, HeaderTellsWhatTheProgramTells) {
  plan::Plan plan = emitted();
  EXPECT_EQ(plan.model_name(), "small");
  EXPECT_EQ(plan.options(), "--tp=2");
  EXPECT_EQ(plan.seed(), 7u);
  EXPECT_EQ(plan.training().sequence_length(), 4);
  EXPECT_EQ(plan.training().model_parameters(), 12);
  EXPECT_EQ(plan.training().model_flops_per_step(), 1000); // one dp rank, one micro-batch
  EXPECT_EQ(plan.training().compute_dtype(), plan::F32);
  ASSERT_EQ(plan.mesh().axes_size(), 2);
  EXPECT_EQ(plan.mesh().axes(0).name(), "pp");
  ASSERT_EQ(plan.groups_size(), 2);
  EXPECT_EQ(plan.groups(1).stages_size(), 2);
  ASSERT_EQ(plan.channels_size(), 1);
  EXPECT_EQ(plan.channels(0).to_stage(), 1);
  ASSERT_EQ(plan.channels(0).receive_buffers_size(), 1);
  EXPECT_EQ(plan.stages(1).buffers(plan.channels(0).receive_buffers(0)).name(), "message");
}

TEST_F(PlanEmitterTest, OptionsReplaceWhatTheProgramTells) {
  EmitOptions options;
  options.modelName = "other";
  options.optionsText = "--pp=2";
  options.seed = 9;
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(twoStages);
  mlir::FailureOr<plan::Plan> plan = emitPlan(*module, options);
  ASSERT_TRUE(mlir::succeeded(plan));
  EXPECT_EQ(plan->model_name(), "other");
  EXPECT_EQ(plan->options(), "--pp=2");
  EXPECT_EQ(plan->seed(), 9u);
}

TEST_F(PlanEmitterTest, VariablesKeepLayoutAndStart) {
  plan::Plan plan = emitted();
  const plan::Variable &weight = plan.stages(0).variables(0);
  EXPECT_EQ(weight.role(), plan::Variable::PARAMETER);
  EXPECT_TRUE(weight.owner());
  EXPECT_EQ(weight.global_shape(0), 6);
  ASSERT_EQ(weight.dims_size(), 2);
  ASSERT_EQ(weight.dims(0).axes_size(), 1);
  EXPECT_EQ(weight.dims(0).axes(0), "tp");
  EXPECT_EQ(weight.dims(1).axes_size(), 0);
  EXPECT_EQ(weight.initializer().kind(), plan::Initializer::NORMAL);
  EXPECT_EQ(weight.initializer().value(), 1.0);
  EXPECT_EQ(weight.initializer().stddev(), 0.5);
  EXPECT_EQ(weight.initializer().key(), "w");
  const plan::Variable &metric = plan.stages(1).variables(0);
  EXPECT_EQ(metric.role(), plan::Variable::METRIC);
  EXPECT_EQ(metric.parameter(), "");
  ASSERT_EQ(metric.partial_axes_size(), 1);
  EXPECT_EQ(metric.initializer().kind(), plan::Initializer::CONSTANT);
}

TEST_F(PlanEmitterTest, KernelsKeepScalarsCostAndModelLine) {
  plan::Plan plan = emitted();
  const plan::Instruction &kernel = plan.stages(0).segments(0).instructions(1);
  EXPECT_EQ(kernel.kind(), plan::Instruction::KERNEL);
  EXPECT_EQ(kernel.opcode(), "embedding");
  ASSERT_EQ(kernel.inputs_size(), 2);
  EXPECT_EQ(plan.stages(0).buffers(kernel.inputs(1)).name(), "w");
  ASSERT_EQ(kernel.attributes_size(), 3); // in alphabetical order
  EXPECT_EQ(kernel.attributes(0).i(), 1); // true
  EXPECT_EQ(kernel.attributes(1).s(), "n");
  EXPECT_EQ(kernel.attributes(2).f(), 0.5);
  ASSERT_EQ(kernel.axis_offsets_size(), 1);
  EXPECT_EQ(kernel.axis_offsets(0).stride(), 3);
  EXPECT_EQ(kernel.cost().flops(), 1);
  EXPECT_EQ(kernel.cost().bytes_written(), 3);
  EXPECT_EQ(kernel.cost().work(), plan::Cost::ATTENTION);
  EXPECT_EQ(plan.locations(0), "unknown");
  EXPECT_EQ(plan.locations(kernel.location()), "model.mlir:42:5 embedding");
  const plan::Instruction &reduce = plan.stages(0).segments(0).instructions(2);
  EXPECT_EQ(reduce.kind(), plan::Instruction::ALL_REDUCE);
  EXPECT_EQ(reduce.opcode(), "sum");
  EXPECT_EQ(plan.locations(reduce.location()), "model.mlir:42:5 all_reduce_sum");
}

TEST_F(PlanEmitterTest, TransfersNameTheirPeer) {
  plan::Plan plan = emitted();
  const plan::Instruction &input = plan.stages(0).segments(0).instructions(0);
  EXPECT_EQ(input.kind(), plan::Instruction::INPUT);
  EXPECT_EQ(input.cost().bytes_written(), 32);
  const plan::Instruction &send = plan.stages(0).segments(0).instructions(3);
  EXPECT_EQ(send.kind(), plan::Instruction::SEND);
  EXPECT_EQ(send.peer_stage(), 1);
  EXPECT_EQ(send.cost().bytes_read(), 64);
  const plan::Instruction &recv = plan.stages(1).segments(0).instructions(0);
  EXPECT_EQ(recv.kind(), plan::Instruction::RECV);
  EXPECT_EQ(recv.peer_stage(), 0);
  EXPECT_EQ(plan.stages(1).segments(0).instructions(1).opcode(), "sum");
  EXPECT_EQ(plan.stages(1).segments(0).instructions(2).kind(), plan::Instruction::ALL_GATHER);
  const plan::Instruction &output = plan.stages(1).segments(2).instructions(0);
  EXPECT_EQ(output.kind(), plan::Instruction::OUTPUT);
  EXPECT_EQ(output.opcode(), "loss");
}

TEST_F(PlanEmitterTest, ScheduleNamesSegmentsByIndex) {
  plan::Plan plan = emitted();
  ASSERT_EQ(plan.stages(1).schedule_size(), 3);
  EXPECT_EQ(plan.stages(1).schedule(1).segment(), 1u);
  EXPECT_EQ(plan.stages(1).schedule(1).micro_batch(), 0);
  EXPECT_EQ(plan.stages(1).schedule(2).segment(), 2u);
  EXPECT_EQ(plan.stages(1).schedule(2).micro_batch(), -1);
}

TEST_F(PlanEmitterTest, RefusesWhatHasNoMemoryYet) {
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) { message = diagnostic.str(); });
  mlir::OwningOpRef<mlir::ModuleOp> module =
      parse("plan.program @p mesh (tp = 1) training <sequence_length = 1, samples = 1, micro_batches = 1, vocabulary = "
            "1, parameters = 0, "
            "flops_per_micro_batch = 0, compute = f32> seed 0 options \"\" { plan.stage 0 { } }");
  ASSERT_TRUE(module);
  EXPECT_TRUE(mlir::failed(emitPlan(*module)));
  EXPECT_EQ(message, "'plan.stage' op has no arena yet; 'plan-assign-memory' makes it");
  mlir::OwningOpRef<mlir::ModuleOp> empty = parse("module {}");
  EXPECT_TRUE(mlir::failed(emitPlan(*empty)));
  EXPECT_EQ(message, "has 0 plan programs, expected 1; 'plan-lower' makes it");
}
