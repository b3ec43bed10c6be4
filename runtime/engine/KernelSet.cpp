//===- KernelSet.cpp - the kernels a job runs with --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of runtime/kernels as kernel sets, and the check of a plan's calls.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/KernelSet.h"
#include "runtime/engine/PlanViews.h"
#include "runtime/kernels/api/Registry.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>

using namespace tgpt;
using namespace tgpt::runtime;

static KernelSet kernelsOf(KernelBackend backend, std::string name, double slowestFlopsPerSecond) {
  KernelSet set;
  set.name = std::move(name);
  set.slowestFlopsPerSecond = slowestFlopsPerSecond;
  set.find = [backend](std::string_view opcode, const KernelCall &) -> ResolvedKernel {
    const Kernel *kernel = findKernel(backend, opcode);
    return kernel ? ResolvedKernel{kernel->function, kernel->check} : ResolvedKernel{};
  };
  for (std::string_view opcode : kernelNames(backend))
    set.opcodes.emplace_back(opcode);
  return set;
}

KernelSet tgpt::runtime::cpuKernels() {
  return kernelsOf(KernelBackend::Cpu, "cpu", 2e9);
}

KernelSet tgpt::runtime::referenceKernels() {
  return kernelsOf(KernelBackend::Reference, "reference", 2e7);
}

static std::string unknownKernel(const KernelSet &kernels, const std::string &opcode) {
  bool known = std::find(kernels.opcodes.begin(), kernels.opcodes.end(), opcode) != kernels.opcodes.end();
  if (known)
    return "kernel '" + opcode + "' of the " + kernels.name + " kernels has no version for these dtypes";
  std::string nearest = nearestName(opcode, kernels.opcodes);
  return "unknown kernel '" + opcode + "'" + (nearest.empty() ? "" : ", the nearest known one is '" + nearest + "'");
}

/// A plan has what the kernels of this version need; another version's may have less.
static std::string checkWorkspace(const plan::StageProgram &stage, const plan::Instruction &instruction,
                                  const ResolvedKernel &kernel, const KernelCall &call) {
  size_t needed = kernel.workspaceBytes ? kernel.workspaceBytes(call) : 0, given = 0;
  if (instruction.has_workspace())
    given = viewOf(stage.buffers(static_cast<int>(instruction.workspace())), nullptr).bytes();
  if (needed <= given)
    return "";
  return "needs a workspace of " + std::to_string(needed) + " bytes, the plan gives it " + std::to_string(given) +
         "; a tgpt-opt of this version plans enough";
}

static std::string checkCall(const KernelSet &kernels, const plan::StageProgram &stage,
                             const plan::Instruction &instruction, KernelCall call) {
  ResolvedKernel kernel = kernels.find(instruction.opcode(), call);
  if (!kernel.function)
    return unknownKernel(kernels, instruction.opcode());
  std::string problem = kernel.check ? kernel.check(call) : "";
  return problem.empty() ? checkWorkspace(stage, instruction, kernel, call) : problem;
}

KernelCheck tgpt::runtime::kernelCheckOf(const KernelSet &kernels, const plan::Mesh &mesh) {
  return [kernels, grid = RankGrid(mesh)](const plan::StageProgram &stage, const plan::Instruction &instruction) {
    // Checks look at shapes only, but want every operand to have an address.
    alignas(64) static std::byte somewhere[64];
    auto views = [&](const auto &operands) {
      std::vector<TensorView> result;
      for (uint32_t buffer : operands)
        result.push_back(viewOf(stage.buffers(static_cast<int>(buffer)), somewhere));
      return result;
    };
    std::vector<TensorView> inputs = views(instruction.inputs()), outputs = views(instruction.outputs());
    Attributes first = attributesOf(instruction, [](const plan::AxisOffset &) { return 0; });
    std::string problem = checkCall(kernels, stage, instruction, {inputs, outputs, &first});
    if (!problem.empty() || instruction.axis_offsets_size() == 0)
      return problem;
    Attributes last =
        attributesOf(instruction, [&](const plan::AxisOffset &offset) { return grid.sizeOf(offset.axes()) - 1; });
    return checkCall(kernels, stage, instruction, {inputs, outputs, &last});
  };
}
