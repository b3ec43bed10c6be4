//===- test/e2e/SimulationTest.cpp - compiled plans in virtual time, against what is known ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Five judges of a simulated step: longest paths through the plan's waits, found by brute
// force; the bubbles that the schedules' papers give for equal stages; the happens-before
// graph that the plan's check rests on; the events of a real run; and the closed form of a
// step that the planner searches with.
//
//===----------------------------------------------------------------------===//

#include "cost/KernelTime.h"
#include "cost/StepTime.h"
#include "cost/cluster/ClusterFile.h"
#include "runtime/engine/Job.h"
#include "runtime/engine/Scalar.h"
#include "runtime/kernels/api/CallSize.h"
#include "runtime/plan/StepGraph.h"
#include "runtime/sim/PlannedCall.h"
#include "runtime/sim/Simulate.h"
#include "test/e2e/InProcessCompiler.h"
#include "test/unit/sim/LongestPaths.h"
#include "test/unit/sim/UnitCluster.h"
#include <chrono>
#include <cstdio>
#include <gtest/gtest.h>
#include <map>
#include <tuple>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::sim;

namespace {

ModelRecipe recipeOf(const std::string &name, int64_t layers = 0) {
  ModelRecipe recipe = readModelRecipe(std::string(TGPT_RECIPES_DIR) + "/models/" + name + ".yaml");
  if (layers > 0)
    recipe.layers = layers;
  return recipe;
}

cost::Cluster clusterOf(const std::string &name) {
  return cost::readClusterFile(std::string(TGPT_RECIPES_DIR) + "/clusters/" + name + ".yaml");
}

struct Grid {
  int64_t dp, pp, tp, vpp, microBatches;
};

CompileOptions optionsOf(const Grid &grid, const std::string &schedule = "1f1b") {
  CompileOptions options;
  options.dp = grid.dp;
  options.pp = grid.pp;
  options.tp = grid.tp;
  options.vpp = grid.vpp;
  options.sequenceParallel = grid.tp > 1;
  options.microBatches = grid.microBatches;
  options.schedule = schedule;
  return options;
}

/// All work of a segment in its first kernel, so much by its kind.
void setWork(plan::Plan &plan, const std::map<plan::Segment::Kind, int64_t> &seconds) {
  for (plan::StageProgram &stage : *plan.mutable_stages())
    for (plan::Segment &segment : *stage.mutable_segments()) {
      auto found = seconds.find(segment.kind());
      int64_t left = found == seconds.end() ? 0 : found->second;
      for (plan::Instruction &instruction : *segment.mutable_instructions()) {
        instruction.clear_cost();
        if (instruction.kind() != plan::Instruction::KERNEL || left == 0)
          continue;
        instruction.mutable_cost()->set_flops(std::exchange(left, 0));
      }
      ASSERT_EQ(left, 0) << "no kernel in " << segment.name();
    }
}

constexpr plan::Segment::Kind F = plan::Segment::FORWARD, B = plan::Segment::BACKWARD,
                              W = plan::Segment::WEIGHT_GRADIENT;

double bubbleOf(InProcessCompiler &compiler, const Grid &grid, const std::string &schedule) {
  plan::Plan plan = compiler.compile(recipeOf("nano", grid.pp * grid.vpp), optionsOf(grid, schedule));
  if (schedule == "zero-bubble")
    setWork(plan, {{F, 1}, {B, 1}, {W, 1}});
  else
    setWork(plan, {{F, 1}, {B, 2}});
  return simulate(plan, test::unitCluster(1e30)).bubble();
}

// (p - 1) / (v m), arXiv 2104.04473; a third of that with equal weight gradients, arXiv 2401.10241. Times are small
// integers: sums are exact, the quotient is rounded once.
TEST(SimulatedPlan, bubblesOfEqualStagesAreThoseOfThePapers) {
  InProcessCompiler compiler;
  for (int64_t p : {1, 2, 3, 4})
    for (int64_t m : {p, 2 * p, 4 * p}) {
      double plain = double(p - 1) / double(m);
      EXPECT_DOUBLE_EQ(bubbleOf(compiler, {1, p, 1, 1, m}, "gpipe"), plain) << "p=" << p << " m=" << m;
      EXPECT_DOUBLE_EQ(bubbleOf(compiler, {1, p, 1, 1, m}, "1f1b"), plain) << "p=" << p << " m=" << m;
      EXPECT_DOUBLE_EQ(bubbleOf(compiler, {1, p, 1, 2, m}, "1f1b"), plain / 2) << "p=" << p << " v=2 m=" << m;
      double zeroBubble = bubbleOf(compiler, {1, p, 1, 1, m}, "zero-bubble");
      EXPECT_DOUBLE_EQ(zeroBubble, plain / 3) << "p=" << p << " m=" << m;
      if (p > 1) {
        EXPECT_LT(zeroBubble, plain);
      }
    }
}

// A plan does not say m, n and k: what rates of products count follows from operands' shapes, and is what the op says.
TEST(SimulatedPlan, sizesOfProductsFollowFromTheirOperands) {
  InProcessCompiler compiler;
  int products = 0;
  for (const char *model : {"nano", "nano-gpt2"})
    for (const Grid &grid : {Grid{1, 1, 1, 1, 1}, Grid{2, 1, 2, 1, 2}, Grid{1, 2, 2, 1, 2}}) {
      plan::Plan plan = compiler.compile(recipeOf(model), optionsOf(grid));
      for (const plan::StageProgram &stage : plan.stages())
        for (const plan::Segment &segment : stage.segments())
          for (const plan::Instruction &instruction : segment.instructions()) {
            if (instruction.cost().work() != plan::Cost::MATRIX_PRODUCT)
              continue;
            ++products;
            cost::CallSize size = callSize(instruction.opcode(), PlannedCall(stage, instruction).call());
            // Beside them an addition a result, where a bias or what was there before is added.
            bool adds = instruction.opcode() == "linear" ? instruction.inputs_size() > 2
                                                         : instruction.opcode() == "linear_wgrad";
            EXPECT_EQ(size.operations + (adds ? size.items : 0), static_cast<double>(instruction.cost().flops()))
                << model << " " << instruction.opcode() << " in " << segment.name();
          }
    }
  EXPECT_GT(products, 200);
}

/// Kernels of unequal lengths, in whole seconds.
void setUnequalWork(plan::Plan &plan) {
  int64_t number = 0;
  for (plan::StageProgram &stage : *plan.mutable_stages())
    for (plan::Segment &segment : *stage.mutable_segments())
      for (plan::Instruction &instruction : *segment.mutable_instructions()) {
        instruction.clear_cost();
        ++number;
        if (instruction.kind() == plan::Instruction::KERNEL)
          instruction.mutable_cost()->set_flops(number * number % 7);
      }
}

struct Case {
  const char *name;
  CompileOptions options;
};

std::vector<Case> cases() {
  auto with = [](Grid grid, const std::string &schedule, auto change) {
    CompileOptions options = optionsOf(grid, schedule);
    change(options);
    return options;
  };
  auto same = [](CompileOptions &) {};
  return {{"one rank", with({1, 1, 1, 1, 2}, "1f1b", same)},
          {"everything", with({2, 2, 2, 1, 4}, "1f1b", same)},
          {"gpipe", with({1, 3, 1, 1, 5}, "gpipe", same)},
          {"chunks", with({1, 2, 2, 2, 4}, "1f1b", same)},
          {"zero bubble", with({1, 3, 1, 1, 6}, "zero-bubble", same)},
          {"zero bubble, chunks", with({2, 2, 1, 2, 4}, "zero-bubble", [](auto &o) { o.zero = 1; })},
          {"zero 3", with({2, 2, 1, 1, 2}, "1f1b", [](auto &o) { o.zero = 3; })},
          {"recompute", with({2, 1, 2, 1, 2}, "1f1b", [](auto &o) { o.recompute = "full"; })},
          {"overlap", with({2, 2, 2, 1, 3}, "1f1b", [](auto &o) { o.overlap = true; })},
          {"overlap, zero 3", with({4, 1, 2, 1, 2}, "1f1b", [](auto &o) { o.overlap = true, o.zero = 3; })}};
}

// To 1e-12 of the step: sums of integers and halves are exact, but a run of kernels may be added up in another order.
TEST(SimulatedPlan, everyInstructionEndsAsLateAsWhatItWaitsFor) {
  InProcessCompiler compiler;
  for (const Case &each : cases()) {
    if (each.options.overlap)
      continue;
    plan::Plan plan = compiler.compile(recipeOf("nano", 4), each.options);
    setUnequalWork(plan);
    SimulatedStep step = simulate(plan, test::unitCluster(1e30, 0.5), {.recordsEvents = true});
    test::LongestPaths paths(plan, 0.5);
    EXPECT_NEAR(step.seconds, paths.end(), 1e-12 * paths.end()) << each.name;
    ASSERT_EQ(step.events.size(), paths.count()) << each.name;
    int64_t wrong = 0;
    for (const InstructionEvent &event : step.events)
      wrong +=
          std::abs(event.endSeconds - paths.endOf(event.stage, event.entry, event.instruction)) > 1e-12 * paths.end();
    EXPECT_EQ(wrong, 0) << each.name;
  }
}

// What must have happened before, by StepGraph, ended no later; and every second of a rank is of one kind.
TEST(SimulatedPlan, theOrderIsOneThatTheCheckAllows) {
  InProcessCompiler compiler;
  cost::Cluster cluster = clusterOf("dgx-h100");
  for (const Case &each : cases()) {
    plan::Plan plan = compiler.compile(recipeOf("nano", 4), each.options);
    SimulatedStep step = simulate(plan, cluster, {.recordsEvents = true});
    std::map<std::tuple<int, int, int>, double> ends;
    for (const InstructionEvent &event : step.events)
      ends[{event.stage, event.entry, event.instruction}] = event.endSeconds;
    StepGraph graph(plan);
    auto endOf = [&](int node) {
      return ends.at({graph.at(node).stage, graph.at(node).entry, graph.at(node).instruction});
    };
    for (int node = 0; node < graph.size(); ++node) {
      for (int earlier : graph.waitsFor(node))
        EXPECT_LE(endOf(earlier), endOf(node)) << each.name << ": " << graph.placeOf(node);
      if (node > graph.begin(graph.at(node).stage)) {
        EXPECT_LE(endOf(node - 1), endOf(node)) << each.name << ": " << graph.placeOf(node);
      }
    }
    SimulatedStep sums = simulate(plan, cluster);
    for (size_t s = 0; s < sums.stages.size(); ++s) {
      const RankSeconds &rank = sums.stages[s];
      EXPECT_NEAR(rank.busy() + rank.idle + sums.overheadSeconds, sums.seconds, 1e-9 * sums.seconds) << each.name;
      EXPECT_NEAR(rank.computing, step.stages[s].computing, 1e-9 * sums.seconds) << each.name;
    }
  }
}

// Without started collectives nothing slows a kernel down: the busy time is the sum of the instructions' times.
TEST(SimulatedPlan, busyTimeIsTheSumOfInstructionTimes) {
  InProcessCompiler compiler;
  cost::Cluster cluster = clusterOf("dgx-a100");
  plan::Plan plan = compiler.compile(recipeOf("nano", 4), cases()[1].options);
  SimulatedStep step = simulate(plan, cluster);
  for (const plan::StageProgram &stage : plan.stages()) {
    double kernels = 0;
    for (const plan::ScheduleEntry &entry : stage.schedule())
      for (const plan::Instruction &instruction : stage.segments(static_cast<int>(entry.segment())).instructions()) {
        bool isLocal = instruction.kind() == plan::Instruction::KERNEL ||
                       instruction.kind() == plan::Instruction::INPUT ||
                       instruction.kind() == plan::Instruction::OUTPUT;
        if (!isLocal)
          continue;
        const plan::Cost &cost = instruction.cost();
        auto kind = static_cast<cost::KernelKind>(cost.work());
        kernels += cost::kernelSeconds(cluster.device, {double(cost.flops()), double(cost.bytes_read()),
                                                        double(cost.bytes_written()), cost::Dtype::F32, kind});
      }
    const RankSeconds &rank = step.stages[static_cast<size_t>(stage.stage())];
    EXPECT_NEAR(rank.computing, kernels, 1e-9 * kernels);
    EXPECT_NEAR(rank.slowedDown, 0, 1e-9 * kernels);
  }
}

/// Tokens, labels and the rest: zeros will do.
class ZeroInputs final : public StepInputs {
public:
  void fill(std::string_view, int64_t, int64_t, TensorView destination) override {
    for (int64_t i = 0; i < destination.elements(); ++i)
      storeElement(destination, 0, i);
  }
};

// A simulated trace can be laid beside a measured one: the same events by rank, stream, name and place.
TEST(SimulatedPlan, eventsAreThoseOfARun) {
  using Key = std::tuple<int64_t, int, std::string, int, int>;
  InProcessCompiler compiler;
  for (const Case &each : cases()) {
    plan::Plan plan = compiler.compile(recipeOf("nano", 4), each.options);
    auto countsOf = [&](const std::vector<InstructionEvent> &events) {
      std::map<Key, int> counts;
      for (const InstructionEvent &event : events)
        ++counts[{event.rank, event.stream, eventName(event.instructionIn(plan)), event.entry, event.instruction}];
      return counts;
    };
    cost::Cluster laptop = clusterOf("laptop-cpu");
    laptop.topology = cost::singleNode(laptop.device); // for more ranks than cores
    SimulatedStep step = simulate(plan, laptop, {.recordsEvents = true});
    JobOptions options;
    options.tracedSteps = 1;
    Job job(plan, options);
    job.initializeVariables();
    ZeroInputs inputs;
    job.runStep(inputs);
    std::vector<InstructionEvent> measured;
    for (const RankSeconds &rank : step.stages)
      for (const InstructionEvent &event : job.events(rank.rank))
        measured.push_back(event);
    EXPECT_EQ(countsOf(step.events), countsOf(measured)) << each.name;
  }
}

cost::ModelShape shapeOf(const ModelRecipe &recipe) {
  cost::ModelShape shape;
  bool isLlama = recipe.family == ModelFamily::Llama;
  shape.layers = double(recipe.layers), shape.hidden = double(recipe.width);
  shape.heads = double(recipe.heads), shape.kvHeads = double(recipe.kvHeads), shape.headDim = double(recipe.headDim());
  shape.ffnHidden = double(recipe.ffn), shape.gatedMlp = isLlama;
  shape.biases = shape.layerNorm = !isLlama;
  shape.vocabulary = double(recipe.vocabulary), shape.sequence = double(recipe.sequenceLength);
  shape.learnedPositions = isLlama ? 0 : double(recipe.sequenceLength);
  shape.tiedEmbedding = recipe.tiedEmbeddings;
  return shape;
}

cost::Execution executionOf(const CompileOptions &options) {
  cost::Execution run;
  run.tp = double(options.tp), run.dp = double(options.dp), run.pp = double(options.pp);
  run.chunks = double(options.vpp);
  run.sequenceParallel = options.sequenceParallel;
  run.zero = static_cast<int>(options.zero);
  run.schedule = options.schedule == "zero-bubble" ? cost::Schedule::ZeroBubbleH1
                 : options.vpp > 1                 ? cost::Schedule::Interleaved
                                                   : cost::Schedule::OneF1B;
  run.microBatch = double(options.microBatchSamples), run.microBatches = double(options.microBatches);
  run.rankOrder = {cost::RankAxis::Tensor, cost::RankAxis::Pipeline, cost::RankAxis::Data}; // the mesh, inside out
  return run;
}

// The search's closed form knows neither the plan's kernels nor its waits. A quarter either way is what its own worst
// published row shows (validation/bounds.csv).
TEST(SimulatedPlan, theClosedFormOfAStepIsNear) {
  struct Row {
    const char *recipe;
    Grid grid;
    bool overlap;
    int64_t zero;
    const char *schedule;
  };
  const Row rows[] = {{"llama2-7b", {8, 1, 1, 1, 4}, false, 1, "1f1b"},
                      {"llama3-8b", {1, 1, 8, 1, 8}, false, 0, "1f1b"},
                      {"llama3-8b", {4, 1, 2, 1, 8}, true, 3, "1f1b"},
                      {"llama3-70b", {2, 4, 8, 1, 16}, true, 1, "1f1b"},
                      {"llama3-70b", {2, 4, 8, 1, 16}, true, 1, "zero-bubble"},
                      {"llama3-405b", {128, 16, 8, 2, 32}, true, 1, "1f1b"},
                      {"llama3-70b", {4, 1, 16, 1, 16}, true, 1, "1f1b"},
                      {"llama3-70b", {1, 1, 64, 1, 4}, true, 0, "1f1b"}}; // tp across nodes
  InProcessCompiler compiler;
  cost::Cluster cluster = clusterOf("dgx-h100");
  std::printf("%-12s %4s %3s %3s %3s %5s  %10s  %10s  ratio\n", "recipe", "dp", "pp", "tp", "vpp", "zero", "simulated",
              "closed");
  for (const Row &row : rows) {
    ModelRecipe recipe = recipeOf(row.recipe);
    CompileOptions options = optionsOf(row.grid, row.schedule);
    options.dtype = "bf16";
    options.zero = row.zero;
    options.overlap = row.overlap;
    plan::Plan plan = compiler.compile(recipe, options);
    auto start = std::chrono::steady_clock::now();
    SimulatedStep step = simulate(plan, cluster);
    double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    cost::Machine machine = cluster.machine();
    if (!row.overlap)
      machine.software = cost::withoutOverlap(machine.software);
    double closed = cost::stepSeconds(machine, shapeOf(recipe), executionOf(options)).total;
    std::printf("%-12s %4d %3d %3d %3d %5d  %8.3f s  %8.3f s  %.3f  (simulated in %.0f ms)\n", row.recipe,
                int(row.grid.dp), int(row.grid.pp), int(row.grid.tp), int(row.grid.vpp), int(row.zero), step.seconds,
                closed, step.seconds / closed, 1e3 * taken);
    EXPECT_NEAR(step.seconds / closed, 1, 0.25) << row.recipe;
  }
}

} // namespace
