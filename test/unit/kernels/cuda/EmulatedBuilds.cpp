//===- EmulatedBuilds.cpp - the device kernels are judged -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/cuda/EmulatedBuilds.h"
#include "runtime/kernels/cuda/Queue.h"
#include "test/unit/kernels/Case.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

using namespace tgpt;
using namespace tgpt::runtime;

static constexpr size_t guardBytes = 64;
static constexpr unsigned char guardValue = 0x5a;

static bool isGuard(const unsigned char *bytes) {
  for (size_t i = 0; i < guardBytes; ++i)
    if (bytes[i] != guardValue)
      return false;
  return true;
}

KernelStatus test::runEmulated(const cuda::DeviceKernel &kernel, emulation::Order order, const KernelCall &call) {
  size_t bytes = kernel.workspaceBytes ? kernel.workspaceBytes(call) : 0;
  auto *workspace = static_cast<unsigned char *>(std::aligned_alloc(256, (bytes + guardBytes + 255) / 256 * 256));
  std::memset(workspace, 0xff, bytes);
  std::memset(workspace + bytes, guardValue, guardBytes);
  int32_t fault = 0;
  cuda::queue() = {nullptr, workspace, bytes, &fault};
  emulation::setOrder(order);
  KernelStatus status = kernel.entry.kernel.function(call);
  emulation::setOrder(emulation::Order::Ascending);
  cuda::queue() = {};
  if (status.ok())
    status.error = isGuard(workspace + bytes) ? cuda::describe(cuda::Fault(fault)) : "wrote behind the workspace";
  std::free(workspace);
  return status;
}

/// A kernel function has no data of its own: one function for each line of the table.
template <size_t Line, emulation::Order order> static KernelStatus runLine(const KernelCall &call) {
  return test::runEmulated(cuda::emulated::kernelTable()[Line], order, call);
}

template <emulation::Order order, size_t... Line>
static std::vector<KernelEntry> tableInOrder(std::index_sequence<Line...>) {
  std::array<KernelFunction, sizeof...(Line)> functions = {runLine<Line, order>...};
  std::vector<KernelEntry> table;
  for (const cuda::DeviceKernel &kernel : cuda::emulated::kernelTable())
    table.push_back({kernel.entry.name, {functions.at(table.size()), kernel.entry.kernel.check}});
  return table;
}

std::span<const CpuKernelBuild> test::judgedBuilds() {
  using Lines = std::make_index_sequence<64>;
  static const std::vector<KernelEntry> ascending = tableInOrder<emulation::Order::Ascending>(Lines()),
                                        descending = tableInOrder<emulation::Order::Descending>(Lines());
  static const std::vector<CpuKernelBuild> builds = {{"cuda, threads ascending", ascending},
                                                     {"cuda, threads descending", descending}};
  return builds;
}

/// Share of the time that a test program may take.
#if defined(__SANITIZE_ADDRESS__)
static constexpr double share = 0.1;
#else
static constexpr double share = 1;
#endif

/// Products of two elements, or elements, about: emulation takes some 10 ns for each.
static double workOf(const test::Case &kase) {
  bool isProduct = kase.kernel.starts_with("linear"), isAttention = kase.kernel.starts_with("attention");
  if (isProduct)
    return double(kase.outputs[0].elements()) * double(kase.inputs[0].dim(-1));
  if (isAttention)
    return double(kase.inputs[0].elements()) * double(kase.inputs[0].dim(1)) * (kase.outputs.size() > 2 ? 4 : 1);
  double elements = 0;
  for (const std::vector<test::Tensor> *operands : {&kase.inputs, &kase.outputs})
    for (const test::Tensor &tensor : *operands)
      elements += double(tensor.elements());
  return elements;
}

/// Sums over a block where a block has a row, a token or a chunk of one: some 100 us each.
static double blockSumsOf(const test::Case &kase) {
  double chunks = double(std::max<int64_t>(kase.attributes.integer("chunks"), 1));
  if (kase.kernel == "embedding_grad")
    return 4 * double(kase.inputs[0].elements());
  if (kase.kernel == "softmax_sums" || kase.kernel == "row_mean")
    return double(kase.outputs[0].elements()) * chunks;
  bool isNorm = kase.kernel.find("_norm") != std::string::npos;
  return isNorm ? double(kase.inputs[0].elements()) / double(kase.inputs[0].dim(-1)) : 0;
}

bool test::isJudged(const Case &kase) {
  return workOf(kase) <= 4e5 * share && blockSumsOf(kase) <= 1100 * share;
}
