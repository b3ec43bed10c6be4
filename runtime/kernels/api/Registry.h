//===- Registry.h - finding a kernel by name ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every backend has one table: name -> function and shape check. A caller looks
// a kernel up once, runs `check` on the resolved call, and from then on calls
// `function`. A call that passed its check never reads or writes out of bounds.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_API_REGISTRY_H
#define TGPT_RUNTIME_KERNELS_API_REGISTRY_H

#include "runtime/kernels/api/Kernel.h"

#include <span>
#include <string_view>
#include <vector>

namespace tgpt::runtime {

struct Kernel {
  KernelFunction function = nullptr;
  KernelShapeCheck check = nullptr;
};

/// A line of a backend's table.
struct KernelEntry {
  std::string_view name;
  Kernel kernel;
};

enum class KernelBackend { Reference, Cpu };

/// The kernel called `name`, or null. For Cpu: the best build for this processor.
const Kernel *findKernel(KernelBackend backend, std::string_view name);

/// Every kernel of the backend, in the order of its table.
std::vector<std::string_view> kernelNames(KernelBackend backend = KernelBackend::Cpu);

/// One of the builds of the cpu kernels: "x86-64-v2", "x86-64-v3" (AVX2, FMA),
/// "x86-64-v4" (AVX-512), or "portable" on other processors.
struct CpuKernelBuild {
  std::string_view name;
  std::span<const KernelEntry> table;
};

/// The builds this processor can run, slowest first; the last one is used.
std::span<const CpuKernelBuild> cpuKernelBuilds();

/// What the cpu kernels' working memory takes at the moment, over all threads.
int64_t cpuWorkspaceBytes();

/// The entry called `name`, or null.
const Kernel *findKernel(std::span<const KernelEntry> table, std::string_view name);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_KERNELS_API_REGISTRY_H
