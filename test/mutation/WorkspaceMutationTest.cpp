//===- test/mutation/WorkspaceMutationTest.cpp - mistakes with the workspace of kernels -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The workspace of compiled plans is moved, shrunk, laid over others, taken from kernels,
// given to what is none, and used as an operand. The plan checker, or the check of a
// device's kernels, must refuse what then computes something else: accepted mutants run on
// emulated devices, whose library writes all of the workspace that a product is given.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/DeviceBackends.h"
#include "runtime/engine/KernelSet.h"
#include "runtime/plan/CheckPlan.h"
#include "test/e2e/InProcessCompiler.h"
#include "test/mutation/MutationTable.h"
#include "test/mutation/Programs.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <utility>

using namespace tgpt;
using plan::Instruction;
using plan::Region;

namespace {

/// Mutates the workspace of each stage of one program.
class WorkspaceMutation {
public:
  WorkspaceMutation(const plan::Plan &original, std::string name, MutationTable &table)
      : original(original), name(std::move(name)), table(table), device{runtime::emulatedBackend()},
        run(original, device), kernelCheck(runtime::kernelCheckOf(device.backend->kernels, original.mesh())) {}

  void mutateAll() {
    for (stage = 0; stage < original.stages_size(); ++stage) {
      findWorkspace();
      mutateRegion();
      mutateBuffer();
      mutateOthers();
      for (int segment = 0; segment < original.stages(stage).segments_size(); ++segment)
        for (int i = 0; i < original.stages(stage).segments(segment).instructions_size(); ++i)
          mutateInstruction(segment, i);
    }
  }

private:
  using Edit = std::function<void(plan::StageProgram &)>;

  void findWorkspace() {
    const plan::StageProgram &program = original.stages(stage);
    for (region = 0; program.regions(region).kind() != Region::WORKSPACE;)
      ++region;
    for (buffer = 0; static_cast<int>(program.buffers(buffer).region()) != region;)
      ++buffer;
  }

  void mutateRegion() {
    auto change = [&](const char *mutation, const std::function<void(Region &)> &edit) {
      attempt(mutation, [&](plan::StageProgram &mutant) { edit(*mutant.mutable_regions(region)); });
    };
    const Region &workspace = original.stages(stage).regions(region);
    for (int kind = 0; kind <= Region::Kind_MAX + 1; ++kind)
      if (kind != Region::WORKSPACE)
        change("another kind of region", [&](Region &r) { r.set_kind(static_cast<Region::Kind>(kind)); });
    for (int64_t bytes : {-256, -64, -1, 1, 64, 256}) {
      change("region elsewhere", [&](Region &r) { r.set_offset_bytes(workspace.offset_bytes() + bytes); });
      change("region of another size", [&](Region &r) { r.set_slot_bytes(workspace.slot_bytes() + bytes); });
      change("another peak", [&](Region &r) { r.set_peak_live_bytes(workspace.peak_live_bytes() + bytes); });
    }
    change("two slots", [](Region &r) { r.set_slots(2); });
    change("of a chunk", [](Region &r) { r.set_chunk(1); });
    attempt("a second region", [&](plan::StageProgram &mutant) {
      Region second = mutant.regions(region);
      second.set_offset_bytes(mutant.arena_bytes());
      mutant.set_arena_bytes(mutant.arena_bytes() + second.slot_bytes());
      *mutant.add_regions() = second;
    });
    attempt("no region", [&](plan::StageProgram &mutant) {
      mutant.mutable_regions(region)->set_slot_bytes(0);
      mutant.mutable_regions(region)->set_peak_live_bytes(0);
    });
  }

  void mutateBuffer() {
    auto change = [&](const char *mutation, const std::function<void(plan::Buffer &)> &edit) {
      attempt(mutation, [&](plan::StageProgram &mutant) { edit(*mutant.mutable_buffers(buffer)); });
    };
    for (int64_t bytes : {-256, -64, 4, 64, 256})
      change("buffer elsewhere", [&](plan::Buffer &b) { b.set_offset_bytes(bytes); });
    for (int64_t words : {-64, -16, -1, 1, 16, 64})
      change("buffer of another size", [&](plan::Buffer &b) { b.set_shape(0, b.shape(0) + words); });
    change("buffer of no size", [](plan::Buffer &b) { b.set_shape(0, 0); });
    for (int type = 0; type <= plan::DType_MAX + 1; ++type)
      change("another dtype", [&](plan::Buffer &b) { b.set_dtype(static_cast<plan::DType>(type)); });
    for (int other = 0; other < original.stages(stage).regions_size(); ++other)
      if (other != region)
        change("buffer in another region", [&](plan::Buffer &b) { b.set_region(static_cast<uint32_t>(other)); });
    // Smaller as a whole: what is right but for the needs of the kernels.
    for (int64_t kept : {256, 512})
      attempt("all smaller", [&](plan::StageProgram &mutant) {
        mutant.mutable_buffers(buffer)->set_shape(0, std::min(mutant.buffers(buffer).shape(0), kept / 4));
      });
  }

  /// What others have is laid into the workspace, or over it.
  void mutateOthers() {
    const plan::StageProgram &program = original.stages(stage);
    for (int other = 0; other < program.buffers_size(); ++other)
      if (other != buffer)
        attempt("another buffer in it", [&](plan::StageProgram &mutant) {
          mutant.mutable_buffers(other)->set_region(static_cast<uint32_t>(region));
          mutant.mutable_buffers(other)->set_offset_bytes(0);
        });
    for (int other = 0; other < program.regions_size(); ++other)
      if (other != region) {
        attempt("another region over it", [&](plan::StageProgram &mutant) {
          mutant.mutable_regions(other)->set_offset_bytes(program.regions(region).offset_bytes());
        });
        attempt("it over another region", [&](plan::StageProgram &mutant) {
          mutant.mutable_regions(region)->set_offset_bytes(program.regions(other).offset_bytes());
        });
      }
  }

  void mutateInstruction(int segment, int index) {
    const Instruction &instruction = original.stages(stage).segments(segment).instructions(index);
    auto change = [&](const std::string &mutation, const std::function<void(Instruction &)> &edit) {
      attempt(mutation, [&](plan::StageProgram &mutant) {
        edit(*mutant.mutable_segments(segment)->mutable_instructions(index));
      });
    };
    auto workspace = static_cast<uint32_t>(buffer);
    for (int i = 0; i < instruction.inputs_size(); ++i)
      change("read", [&](Instruction &changed) { changed.set_inputs(i, workspace); });
    for (int i = 0; i < instruction.outputs_size(); ++i)
      change("written", [&](Instruction &changed) { changed.set_outputs(i, workspace); });
    if (instruction.kind() != Instruction::KERNEL)
      return change("given to what is no kernel", [&](Instruction &changed) { changed.set_workspace(workspace); });
    if (!instruction.has_workspace())
      return;
    if (seen.emplace(stage, instruction.opcode()).second) // one of a kind: those that need none are accepted, and run
      change("taken away", [](Instruction &changed) { changed.clear_workspace(); });
    for (uint32_t other : {workspace - 1, workspace + 1, instruction.outputs(0)})
      if (other != workspace)
        change("another buffer for it", [&](Instruction &changed) { changed.set_workspace(other); });
  }

  void attempt(const std::string &mutation, const Edit &edit) {
    plan::Plan mutant = original;
    edit(*mutant.mutable_stages(stage));
    std::string why;
    Fate fate = runtime::findPlanProblems(mutant, kernelCheck).empty() ? run.judge(mutant, why) : Fate::Checker;
    table.add(mutation, fate, name + ", stage " + std::to_string(stage) + ": " + why);
  }

  const plan::Plan &original;
  std::string name;
  MutationTable &table;
  runtime::DeviceOptions device;
  MutantRun run;
  runtime::KernelCheck kernelCheck;
  int stage = 0, region = 0, buffer = 0; ///< of the workspace at hand
  std::set<std::pair<int, std::string>> seen;
};

} // namespace

/// In f32, where products may be a library's: their workspace is the largest. Accepted mutants give the bits.
TEST(WorkspaceMutationTest, CheckerRefusesMutants) {
  std::vector<Configuration> programs = {mutatedPrograms(/*pp=*/1, /*dp=*/1)[0], mutatedPrograms(/*pp=*/2, /*dp=*/1)[3],
                                         mutatedChunkedPrograms(/*pp=*/1)[1]};
  programs[1].options.overlap = true;
  InProcessCompiler compiler;
  MutationTable table;
  for (Configuration &program : programs) {
    program.options.dtype = "f32";
    program.options.productWorkspaceBytes = 8192;
    WorkspaceMutation(compiler.compile(program.model, program.options), program.text(), table).mutateAll();
  }
  std::printf("%s", table.text().c_str());
  EXPECT_GT(table.mutants(), 1000);
  EXPECT_GT(table.countOf(Fate::Equivalent), 10);
  EXPECT_EQ(table.shareCaught(), 1);
}
