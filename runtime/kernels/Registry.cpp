//===- Registry.cpp - finding a kernel by name ------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/Registry.h"
#include "runtime/kernels/cpu/IsaLevels.h"
#include "runtime/kernels/cpu/Workspace.h"
#include "runtime/kernels/reference/Registry.h"

#include <algorithm>

using namespace tgpt::runtime;

const Kernel *tgpt::runtime::findKernel(std::span<const KernelEntry> table, std::string_view name) {
  auto found = std::find_if(table.begin(), table.end(), [&](const KernelEntry &entry) { return entry.name == name; });
  return found == table.end() ? nullptr : &found->kernel;
}

static std::vector<CpuKernelBuild> findBuilds() {
#if defined(__x86_64__)
  std::vector<CpuKernelBuild> builds = {{"x86-64-v2", cpu::v2::kernelTable()}};
  if (__builtin_cpu_supports("x86-64-v3"))
    builds.push_back({"x86-64-v3", cpu::v3::kernelTable()});
  if (__builtin_cpu_supports("x86-64-v4"))
    builds.push_back({"x86-64-v4", cpu::v4::kernelTable()});
  return builds;
#else
  return {{"portable", cpu::portable::kernelTable()}};
#endif
}

std::span<const CpuKernelBuild> tgpt::runtime::cpuKernelBuilds() {
  static const std::vector<CpuKernelBuild> builds = findBuilds();
  return builds;
}

static std::span<const KernelEntry> tableOf(KernelBackend backend) {
  return backend == KernelBackend::Reference ? reference::kernelTable() : cpuKernelBuilds().back().table;
}

const Kernel *tgpt::runtime::findKernel(KernelBackend backend, std::string_view name) {
  return findKernel(tableOf(backend), name);
}

int64_t tgpt::runtime::cpuWorkspaceBytes() {
  return cpu::workspaceBytes();
}

std::vector<std::string_view> tgpt::runtime::kernelNames(KernelBackend backend) {
  std::vector<std::string_view> names;
  for (const KernelEntry &entry : tableOf(backend))
    names.push_back(entry.name);
  return names;
}
