//===- EmulatedBuilds.cpp - the device kernels are judged -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/cuda/EmulatedBuilds.h"
#include "runtime/kernels/cuda/KernelTable.h"
#include "runtime/kernels/cuda/cudnn/AttentionOptions.h"
#include "runtime/kernels/cuda/emulation/EmulatedAttention.h"
#include "runtime/kernels/cuda/emulation/EmulatedProducts.h"
#include "test/unit/kernels/Case.h"
#include "test/unit/kernels/cuda/GroupedCall.h"

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

test::EmulatedQueue::EmulatedQueue(size_t bytes) : bytes(bytes) {
  workspace = static_cast<unsigned char *>(std::aligned_alloc(256, (bytes + guardBytes + 255) / 256 * 256));
  std::memset(workspace, 0xff, bytes);
  std::memset(workspace + bytes, guardValue, guardBytes);
  cuda::queue() = {nullptr, workspace, bytes, &fault, nullptr, 0};
}

test::EmulatedQueue::~EmulatedQueue() {
  cuda::queue() = {};
  std::free(workspace);
}

KernelStatus test::EmulatedQueue::judge(KernelStatus status) const {
  if (!status.ok())
    return status;
  return {isGuard(workspace + bytes) ? cuda::describe(cuda::Fault(fault)) : "wrote behind the workspace"};
}

KernelStatus test::runEmulated(const cuda::DeviceKernel &kernel, emulation::Order order, const KernelCall &call) {
  size_t bytes = kernel.workspaceBytes ? kernel.workspaceBytes(call) : 0;
  EmulatedQueue queue(std::max(bytes, kernel.libraryBytes ? kernel.libraryBytes(call) : 0));
  emulation::setOrder(order);
  KernelStatus status = kernel.entry.kernel.function(call);
  emulation::setOrder(emulation::Order::Ascending);
  return queue.judge(status);
}

void test::runKernel(std::string_view name, const KernelCall &call, size_t moreWorkspace) {
  const cuda::DeviceKernel &kernel = cuda::kernelOf(cuda::emulated::kernelTable(), name);
  EmulatedQueue queue((kernel.workspaceBytes ? kernel.workspaceBytes(call) : 0) + moreWorkspace);
  KernelStatus status = queue.judge(kernel.entry.kernel.function(call));
  EXPECT_TRUE(status.ok()) << name << ": " << status.error;
}

uint64_t test::launchCount() {
  return emulation::counts().launches;
}

/// A kernel function has no data of its own: one function for each line of a table.
using Table = std::span<const cuda::DeviceKernel> (*)();
template <Table table, size_t Line, emulation::Order order> static KernelStatus runLine(const KernelCall &call) {
  return test::runEmulated(table()[Line], order, call);
}

template <Table table, emulation::Order order, size_t... Line>
static std::vector<KernelEntry> tableInOrder(std::index_sequence<Line...>) {
  std::array<KernelFunction, sizeof...(Line)> functions = {runLine<table, Line, order>...};
  std::vector<KernelEntry> lines;
  for (const cuda::DeviceKernel &kernel : table())
    lines.push_back({kernel.entry.name, {functions.at(lines.size()), kernel.entry.kernel.check}});
  return lines;
}

/// Kernels that are the same in both tables run through the first's functions, and are judged once.
static std::vector<KernelEntry> withProducts(const std::vector<KernelEntry> &first) {
  using Lines = std::make_index_sequence<64>;
  std::vector<KernelEntry> lines = tableInOrder<cuda::emulated::productTable, emulation::Order::Ascending>(Lines());
  for (size_t i = 0; i < lines.size(); ++i)
    if (cuda::emulated::productTable()[i].entry.kernel.function ==
        cuda::emulated::kernelTable()[i].entry.kernel.function)
      lines[i] = first[i];
  return lines;
}

/// The library's attention wherever it has one.
template <size_t Line> static KernelStatus runLineByLibrary(const KernelCall &call) {
  cuda::attentionOptions().choice = cuda::AttentionChoice::Library;
  KernelStatus status = test::runEmulated(cuda::emulated::attentionTable()[Line], emulation::Order::Ascending, call);
  cuda::attentionOptions().choice = cuda::AttentionChoice::Own;
  return status;
}

template <size_t... Line>
static std::vector<KernelEntry> withAttention(std::vector<KernelEntry> lines, std::index_sequence<Line...>) {
  std::array<KernelFunction, sizeof...(Line)> functions = {runLineByLibrary<Line>...};
  for (size_t i = 0; i < lines.size(); ++i)
    if (lines[i].name.starts_with("attention"))
      lines[i].kernel.function = functions.at(i);
  return lines;
}

static constexpr std::string_view attentionOfCudnn = "cuda, attention as cuDNN does it";

std::span<const CpuKernelBuild> test::judgedBuilds() {
  using Lines = std::make_index_sequence<64>;
  static const std::vector<KernelEntry>
      ascending = tableInOrder<cuda::emulated::kernelTable, emulation::Order::Ascending>(Lines()),
      descending = tableInOrder<cuda::emulated::kernelTable, emulation::Order::Descending>(Lines()),
      products = withProducts(ascending), attention = withAttention(ascending, Lines());
  static const std::vector<CpuKernelBuild> builds = {{"cuda, threads ascending", ascending},
                                                     {"cuda, threads descending", descending},
                                                     {"cuda, products as cuBLASLt does them", products},
                                                     {attentionOfCudnn, attention}};
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
  if (kase.kernel == "embedding_grad")
    return 4 * double(kase.inputs[0].elements());
  if (kase.kernel == "loss_statistics") // two a part, three with the mean
    return double(kase.outputs[0].elements());
  bool isNorm = kase.kernel.find("_norm") != std::string::npos;
  return isNorm ? double(kase.inputs[0].elements()) / double(kase.inputs[0].dim(-1)) : 0;
}

bool test::roundsShares(const CpuKernelBuild &build) {
  return build.name == attentionOfCudnn;
}

bool test::isJudged(const Case &kase) {
  return workOf(kase) <= 4e5 * share && blockSumsOf(kase) <= 1100 * share;
}
