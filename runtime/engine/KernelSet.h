//===- KernelSet.h - the kernels a job runs with ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine knows kernels only through this table lookup, so a backend or a test
// can bring its own.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_KERNELSET_H
#define TGPT_RUNTIME_ENGINE_KERNELSET_H

#include "runtime/kernels/api/Kernel.h"
#include "runtime/plan/CheckPlan.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tgpt::runtime {

/// A kernel for one call: what to run, and what to check before (may be null).
struct ResolvedKernel {
  KernelFunction function = nullptr;
  KernelShapeCheck check = nullptr;
  size_t (*workspaceBytes)(const KernelCall &call) = nullptr; // of the plan's workspace, at least; null: none
  /// That a library takes instead, in the plan's workspace or beside the arena; null or 0: none.
  size_t (*libraryBytes)(const KernelCall &call) = nullptr;
};

struct KernelSet {
  std::string name; // "cpu", "reference"
  /// What a kernel with many operations does at least on a core of its own, for the watchdog: a kernel of hours is no
  /// hang. About a tenth of what is usual; 0: unknown, no kernel takes longer than the watchdog waits.
  double slowestFlopsPerSecond = 0;
  /// Finds the kernel for a call from its dtypes; a null function when there is none.
  std::function<ResolvedKernel(std::string_view opcode, const KernelCall &call)> find;
  /// All opcodes, for the suggestion in "unknown kernel".
  std::vector<std::string> opcodes;
};

/// The kernels of runtime/kernels: the tuned ones, and the plain ones that judge them.
KernelSet cpuKernels();
KernelSet referenceKernels();

/// A KernelCheck for checkPlan, from a kernel set: unknown opcodes (naming the
/// nearest known one) and wrong operands, at both ends of every axis offset.
KernelCheck kernelCheckOf(const KernelSet &kernels, const plan::Mesh &mesh);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_KERNELSET_H
