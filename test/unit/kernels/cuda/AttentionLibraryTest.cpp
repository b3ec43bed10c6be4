//===- AttentionLibraryTest.cpp - attention by a library or by us -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// That problems say what the kernels compute is judged by the suite, which runs them on the
// host (EmulatedAttention.h). Here: which calls are a library's, and how the choice is made,
// kept and taken up again, with a library of scripted times.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cublaslt/ProductOptions.h"
#include "runtime/kernels/cuda/cudnn/AttentionKernels.h"
#include "runtime/kernels/cuda/emulation/EmulatedAttention.h"
#include "test/unit/files/TemporaryDirectory.h"
#include "test/unit/kernels/CaseBuilder.h"
#include "test/unit/kernels/ErrorBounds.h"
#include "test/unit/kernels/cuda/EmulatedBuilds.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <thread>

using namespace tgpt::runtime;
using namespace tgpt::test;
using cuda::AttentionChoice;

/// A call with its operands.
static Case caseOf(bool isGradient, DType t = DType::BF16, int64_t c = 16, int64_t chunks = 0, bool drops = false) {
  constexpr int64_t b = 2, s = 5, h = 4, g = 2;
  Cases cases;
  {
    CaseBuilder builder(cases, isGradient ? "attention_grad" : "attention", t);
    if (isGradient)
      builder.in({b, s, h * c});
    builder.in({b, s, h * c}).in({b, s, g * c}).in({b, s, g * c});
    if (isGradient)
      builder.in({b, s, h * c}).inA({b, h, s}, 2, 4).out({b, s, h * c}).out({b, s, g * c}).out({b, s, g * c});
    else
      builder.out({b, s, h * c}).outA({b, h, s});
    if (drops)
      builder.tokens({b}, 0, 9).tokens({}, 1, 9).integer("key", 7).set("dropout", 0.5);
    builder.integer("head_dim", c).integer("causal", 1).set("scale", 0.25);
    if (chunks)
      builder.integer("chunks", chunks);
  }
  return cases[0];
}

namespace {
/// A case's operands as a call.
struct Operands {
  explicit Operands(const Case &kase) : kase(kase) {
    for (Tensor &tensor : this->kase.inputs)
      inputs.push_back(tensor.view());
    for (Tensor &tensor : this->kase.outputs)
      outputs.push_back(tensor.view());
  }
  KernelCall call() const { return {inputs, outputs, &kase.attributes}; }
  Case kase;
  std::vector<TensorView> inputs, outputs;
};

/// Options of the process for a while.
struct Chosen {
  explicit Chosen(AttentionChoice choice) { cuda::attentionOptions().choice = choice; }
  ~Chosen() {
    cuda::attentionOptions() = {};
    cuda::productOptions() = {};
  }
};

/// What the scripted library is and has done.
struct Script {
  double own = 1, librarys = 2;
  bool opens = true, supports = true, mayMeasure = true, fails = false;
  std::string version = "library 1";
  int ownRuns = 0, libraryRuns = 0, openings = 0;
};
} // namespace

static Script script;

static KernelStatus ownRun(const KernelCall &) {
  ++script.ownRuns;
  return {};
}

static std::span<const cuda::DeviceKernel> ownTable() {
  static const cuda::DeviceKernel table[] = {
      {{"add", {ownRun, nullptr}}, nullptr},
      {{"attention", {ownRun, nullptr}}, nullptr},
      {{"attention_grad", {ownRun, nullptr}}, [](const KernelCall &) { return size_t(64); }}};
  return table;
}

namespace {
struct Scripted {
  static std::string version() { return script.version; }
  static bool keepsScores() { return true; }
  static KernelStatus open() {
    ++script.openings;
    cuda::keptAlgorithms().open("a device");
    return {script.opens ? nullptr : "the library has no handle"};
  }
  static bool supports(const cuda::AttentionProblem &) { return script.supports; }
  static KernelStatus run(const cuda::AttentionProblem &, void *) {
    ++script.libraryRuns;
    return {script.fails ? "the library fails" : nullptr};
  }
  static bool mayMeasure() { return script.mayMeasure; }
  static std::optional<double> seconds(const std::function<KernelStatus()> &work) {
    int before = script.ownRuns;
    if (!work().ok())
      return std::nullopt;
    return script.ownRuns > before ? script.own : script.librarys;
  }
};
} // namespace

/// Runs the call on a thread of its own, which keeps its choices to itself; returns whose result it has.
static std::string runs(const Case &kase, int times = 1) {
  static const std::vector<cuda::DeviceKernel> table = cuda::AttentionKernels<Scripted, ownTable>::table();
  const cuda::DeviceKernel &kernel = cuda::kernelOf(table, kase.kernel);
  Operands operands(kase);
  std::string last;
  std::thread([&] {
    EmulatedQueue queue(kernel.libraryBytes(operands.call()));
    for (int i = 0; i < times; ++i) {
      int64_t before = cuda::attentionCounts().library;
      KernelStatus status = kernel.entry.kernel.function(operands.call());
      last = !status.ok() ? status.error : cuda::attentionCounts().library > before ? "library" : "own";
    }
  }).join();
  return last;
}

TEST(AttentionProblem, SaysWhatTheCallDoes) {
  Operands forward(caseOf(false)), backward(caseOf(true));
  auto p = cuda::attentionProblem(forward.call());
  ASSERT_TRUE(p);
  EXPECT_EQ(p->key(), "attention bf16 2 x 5, 4 heads of 16 and 2 of k, causal");
  EXPECT_EQ(p->statistics, forward.outputs[1].data);
  EXPECT_EQ(p->keyLayout().strides, (std::array<int64_t, 4>{5 * 32, 16, 32, 1}));
  auto g = cuda::attentionGradProblem(backward.call());
  ASSERT_TRUE(g);
  EXPECT_EQ(g->key(), "attention_grad bf16 2 x 5, 4 heads of 16 and 2 of k, causal");
  EXPECT_EQ(g->statistics, backward.inputs[5].data);
  EXPECT_EQ(g->dk, backward.outputs[1].data);
}

TEST(AttentionProblem, WhatOnlyOurKernelsDoIsNone) {
  for (bool isGradient : {false, true}) {
    auto isLibrarys = [&](const Case &kase) {
      Operands operands(kase);
      return (isGradient ? cuda::attentionGradProblem(operands.call()) : cuda::attentionProblem(operands.call()))
          .has_value();
    };
    EXPECT_TRUE(isLibrarys(caseOf(isGradient, DType::F16)));
    EXPECT_FALSE(isLibrarys(caseOf(isGradient, DType::F32)));
    EXPECT_FALSE(isLibrarys(caseOf(isGradient, DType::F64)));
    EXPECT_FALSE(isLibrarys(caseOf(isGradient, DType::BF16, 12))) << "heads of 12 elements";
    EXPECT_FALSE(isLibrarys(caseOf(isGradient, DType::BF16, 264))) << "heads of 264 elements";
    EXPECT_FALSE(isLibrarys(caseOf(isGradient, DType::BF16, 16, 1))) << "an order is asked for";
    EXPECT_FALSE(isLibrarys(caseOf(isGradient, DType::BF16, 16, 0, true))) << "dropout";
  }
}

/// Hand sums: scores of 4 x 8 heads of 128 x 128, shares of k and v in f32, one f32 a row, and the engine's own.
TEST(AttentionProblem, WorkspaceGrowsWithTheSquareWhereScoresAreKept) {
  cuda::AttentionProblem p;
  p.isGradient = true, p.batch = 4, p.sequence = 100, p.heads = 8, p.kvHeads = 8, p.headDim = 64;
  EXPECT_EQ(cuda::libraryWorkspaceBytes(p, true), 4u * 8 * 128 * 128 * 2 + 4 * 8 * 100 * 4 + 1024);
  EXPECT_EQ(cuda::libraryWorkspaceBytes(p, false), 4u * 8 * 100 * 4 + 1024);
  p.kvHeads = 2;
  EXPECT_EQ(cuda::libraryWorkspaceBytes(p, false), 2u * 4 * 8 * 100 * 64 * 4 + 4 * 8 * 100 * 4 + 1024);
  p.isGradient = false;
  EXPECT_EQ(cuda::libraryWorkspaceBytes(p, true), 1024u);
}

TEST(AttentionChoice, IsWhatOptionsSay) {
  script = {};
  EXPECT_EQ(runs(caseOf(false)), "own");
  Chosen library(AttentionChoice::Library);
  EXPECT_EQ(runs(caseOf(false)), "library");
  EXPECT_EQ(runs(caseOf(true)), "library");
  EXPECT_EQ(runs(caseOf(true, DType::F32)), "own");
  script.supports = false;
  EXPECT_EQ(runs(caseOf(false)), "own");
  script.supports = true, script.fails = true;
  EXPECT_EQ(runs(caseOf(false)), "the library fails");
}

TEST(AttentionChoice, OperandsThatAreNotAlignedAreOurs) {
  script = {};
  Chosen library(AttentionChoice::Library);
  Operands operands(caseOf(false));
  operands.inputs[0].data = operands.inputs[0].as<char>() + 2;
  EXPECT_FALSE(cuda::operandsAreAligned(operands.call()));
  EmulatedQueue queue(1 << 12);
  static const std::vector<cuda::DeviceKernel> table = cuda::AttentionKernels<Scripted, ownTable>::table();
  EXPECT_TRUE(cuda::kernelOf(table, "attention").entry.kernel.function(operands.call()).ok());
  EXPECT_EQ(script.ownRuns, 1);
}

TEST(AttentionChoice, AWorkspaceBeyondTheLimitIsNotTaken) {
  script = {};
  Chosen library(AttentionChoice::Library);
  Operands operands(caseOf(true));
  size_t needed = cuda::libraryWorkspaceBytes(*cuda::attentionGradProblem(operands.call()), true);
  cuda::attentionOptions().mostWorkspaceBytes = needed;
  EXPECT_EQ(runs(caseOf(true)), "library");
  cuda::attentionOptions().mostWorkspaceBytes = needed - 1;
  EXPECT_EQ(runs(caseOf(true)), "own");
  const auto table = cuda::AttentionKernels<Scripted, ownTable>::table();
  EXPECT_EQ(cuda::kernelOf(table, "attention_grad").libraryBytes(operands.call()), 0u);
  EXPECT_EQ(cuda::kernelOf(table, "attention_grad").workspaceBytes(operands.call()), 64u) << "of ours, as ever";
}

/// The workspace where that is large enough, else what is beside it; with neither it is an error.
TEST(AttentionChoice, MemoryIsTheWorkspaceOrBesideIt) {
  alignas(256) static char workspace[512], beside[1024];
  cuda::Queue queue{nullptr, workspace, sizeof(workspace), nullptr, beside, sizeof(beside)};
  EXPECT_EQ(queue.forLibrary(512), workspace);
  EXPECT_EQ(queue.forLibrary(513), beside);
  EXPECT_EQ(queue.forLibrary(1025), nullptr);
  script = {};
  Chosen library(AttentionChoice::Library);
  Operands operands(caseOf(true));
  EmulatedQueue tooSmall(8);
  static const std::vector<cuda::DeviceKernel> table = cuda::AttentionKernels<Scripted, ownTable>::table();
  EXPECT_STREQ(cuda::kernelOf(table, "attention_grad").entry.kernel.function(operands.call()).error,
               cuda::workspaceTooSmall);
}

/// Five rounds of both, once; then the faster alone. Within 2% it is ours.
TEST(AttentionChoice, TheFasterIsTakenOnceMeasured) {
  Chosen measured(AttentionChoice::Measured);
  script = {.own = 2, .librarys = 1};
  EXPECT_EQ(runs(caseOf(false), 3), "library");
  EXPECT_EQ(script.ownRuns, 5);
  EXPECT_EQ(script.libraryRuns, 5 + 3);
  script = {.own = 1.01, .librarys = 1};
  EXPECT_EQ(runs(caseOf(false), 2), "own");
  EXPECT_EQ(script.ownRuns, 5 + 2);
  script = {.own = 2, .librarys = 1, .fails = true};
  EXPECT_EQ(runs(caseOf(false)), "own") << "the library cannot run it";
  script = {.own = 2, .librarys = 1, .mayMeasure = false};
  EXPECT_EQ(runs(caseOf(false)), "own") << "a stream that is being captured";
  EXPECT_EQ(script.ownRuns, 1);
}

/// As where cudnnCreate fails: attention is ours, and the user learns it once, whatever the number of ranks.
TEST(AttentionChoice, ALibraryThatDoesNotOpenIsNotMeasured) {
  Chosen measured(AttentionChoice::Measured);
  std::vector<std::string> warnings;
  cuda::attentionOptions().warn = [&](const std::string &text) { warnings.push_back(text); };
  script = {.own = 2, .librarys = 1, .opens = false};
  EXPECT_EQ(runs(caseOf(false), 3), "own");
  EXPECT_EQ(runs(caseOf(true), 3), "own") << "another rank";
  EXPECT_EQ(script.ownRuns, 6) << "nothing was measured";
  EXPECT_EQ(script.libraryRuns, 0);
  EXPECT_EQ(script.openings, 2) << "one a rank";
  EXPECT_EQ(warnings, std::vector<std::string>{"attention is by our own kernels: the library has no handle"});
}

/// What was asked for by name is not replaced in silence.
TEST(AttentionChoice, ALibraryThatIsInsistedOnAndDoesNotOpenIsAnError) {
  Chosen library(AttentionChoice::Library);
  int warnings = 0;
  cuda::attentionOptions().warn = [&](const std::string &) { ++warnings; };
  script = {.opens = false};
  EXPECT_EQ(runs(caseOf(false), 2), "the library has no handle; --attention=own needs no such library");
  EXPECT_EQ(script.ownRuns + script.libraryRuns + warnings, 0);
}

static std::string textOf(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// The file names the choice in words; another version of the library is measured anew.
TEST(AttentionChoice, IsKeptInTheFileOfAlgorithms) {
  TemporaryDirectory directory;
  Chosen measured(AttentionChoice::Measured);
  cuda::productOptions().algorithmFile = directory / "algorithms";
  script = {.own = 2, .librarys = 1};
  EXPECT_EQ(runs(caseOf(false)), "library");
  script = {.own = 1, .librarys = 2};
  EXPECT_EQ(runs(caseOf(true)), "own");
  std::string text = textOf(directory / "algorithms");
  EXPECT_NE(text.find("\ntake library attention bf16 2 x 5, 4 heads of 16 and 2 of k, causal, library 1\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\ntake own attention_grad bf16 2 x 5, 4 heads of 16 and 2 of k, causal, library 1\n"),
            std::string::npos)
      << text;
  script = {.own = 1, .librarys = 2};
  EXPECT_EQ(runs(caseOf(false)), "library") << "not measured again";
  EXPECT_EQ(script.ownRuns, 0);
  script.version = "library 2";
  EXPECT_EQ(runs(caseOf(false)), "own");
  EXPECT_EQ(script.ownRuns, 5 + 1);
}

/// What a problem's layouts say is the kernel's formula: heads of several sizes, grouped or not, within the suite's
/// bounds.
TEST(AttentionProblem, ComputedAsItSaysIsTheKernel) {
  for (bool isGradient : {false, true})
    for (DType t : {DType::BF16, DType::F16})
      for (int64_t c : {8, 16, 64}) {
        Case kase = caseOf(isGradient, t, c);
        std::vector<Tensor> want = kase.run(*findKernel(KernelBackend::Reference, kase.kernel));
        auto bounds = errorBounds(kase, want, true);
        int64_t before = cuda::attentionCounts().library;
        std::vector<Tensor> got = kase.run(*findKernel(judgedBuilds()[3].table, kase.kernel));
        EXPECT_EQ(cuda::attentionCounts().library, before + 1) << "the fourth build is the library's";
        for (size_t o = 0; o < got.size(); ++o)
          for (int64_t i = 0; i < got[o].elements(); ++i)
            ASSERT_LE(std::abs(got[o].get(i) - want[o].get(i)), bounds[o][i])
                << kase.label << ": output " << o << ", element " << i;
      }
}

/// The statistics of one are those of the other, each within the bound of the reference's.
TEST(AttentionChoice, StatisticsAreTheSame) {
  Case kase = caseOf(false);
  std::vector<Tensor> exact = kase.run(*findKernel(KernelBackend::Reference, "attention"));
  std::vector<double> bounds = errorBounds(kase, exact)[1];
  int64_t before = cuda::attentionCounts().library;
  auto statistics = [&](const CpuKernelBuild &build) { return kase.run(*findKernel(build.table, "attention"))[1]; };
  Tensor ours = statistics(judgedBuilds()[0]), librarys = statistics(judgedBuilds()[3]);
  EXPECT_EQ(cuda::attentionCounts().library, before + 1) << "the fourth build is the library's";
  for (int64_t i = 0; i < ours.elements(); ++i)
    EXPECT_LE(std::abs(ours.get(i) - librarys.get(i)), 2 * bounds[i]);
}
