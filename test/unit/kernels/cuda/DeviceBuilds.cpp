//===- DeviceBuilds.cpp - kernels are judged on a GPU -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands go to the device for each call and come back. Builds: the products in their
// fixed order, through cuBLASLt, and attention by cuDNN where there is. Exit code 77 where
// there is no GPU.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/KernelTable.h"
#include "runtime/kernels/cuda/Queue.h"
#include "runtime/kernels/cuda/cublaslt/CublasLt.h"
#ifdef TGPT_HAS_CUDNN
#include "runtime/kernels/cuda/cudnn/AttentionOptions.h"
#include "runtime/kernels/cuda/cudnn/Cudnn.h"
#endif
#include "test/unit/kernels/Case.h"
#include "test/unit/kernels/cuda/GroupedCall.h"

#include <array>
#include <cstdio>
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <map>
#include <stdexcept>
#include <utility>

using namespace tgpt;
using namespace tgpt::runtime;

static void check(cudaError_t status, const char *call) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}

namespace {
/// Zeroed device memory.
class DeviceMemory {
public:
  explicit DeviceMemory(size_t bytes) {
    check(cudaMalloc(&memory, bytes + 1), "cudaMalloc");
    check(cudaMemset(memory, 0, bytes + 1), "cudaMemset");
  }
  DeviceMemory(DeviceMemory &&other) noexcept : memory(std::exchange(other.memory, nullptr)) {}
  ~DeviceMemory() { cudaFree(memory); }
  void *get() const { return memory; }

private:
  void *memory = nullptr;
};

/// The operands of a call on the device; those that share a buffer share it there.
class DeviceOperands {
public:
  TensorView upload(const TensorView &host) {
    auto [found, isNew] = buffers.try_emplace(host.data, host.bytes());
    if (isNew)
      check(cudaMemcpy(found->second.get(), host.data, host.bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
    TensorView view = host;
    view.data = found->second.get();
    return view;
  }
  void download(const TensorView &host) const {
    check(cudaMemcpy(host.data, buffers.at(host.data).get(), host.bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  }

private:
  std::map<void *, DeviceMemory> buffers;
};
} // namespace

static KernelStatus runOnDevice(const cuda::DeviceKernel &kernel, const KernelCall &call,
                                size_t moreWorkspace = 0) try {
  size_t bytes = (kernel.workspaceBytes ? kernel.workspaceBytes(call) : 0) + moreWorkspace;
  size_t besideBytes = kernel.libraryBytes ? kernel.libraryBytes(call) : 0;
  DeviceMemory workspace(bytes), fault(sizeof(int32_t)), beside(besideBytes);
  DeviceOperands operands;
  std::vector<TensorView> inputs, outputs;
  for (const TensorView &view : call.inputs)
    inputs.push_back(operands.upload(view));
  for (const TensorView &view : call.outputs)
    outputs.push_back(operands.upload(view));
  cuda::queue() = {nullptr, workspace.get(), bytes, static_cast<int32_t *>(fault.get()), beside.get(), besideBytes};
  KernelStatus status = kernel.entry.kernel.function({inputs, outputs, call.attributes});
  cuda::queue() = {};
  if (!status.ok())
    return status;
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  int32_t left = 0;
  check(cudaMemcpy(&left, fault.get(), sizeof(left), cudaMemcpyDeviceToHost), "cudaMemcpy");
  for (const TensorView &view : call.outputs)
    operands.download(view);
  return {cuda::describe(cuda::Fault(left))};
} catch (const std::exception &error) {
  static thread_local std::string text;
  text = error.what();
  return {text.c_str()};
}

void test::runKernel(std::string_view name, const KernelCall &call, size_t moreWorkspace) {
  KernelStatus status = runOnDevice(cuda::kernelOf(cuda::device::kernelTable(), name), call, moreWorkspace);
  EXPECT_TRUE(status.ok()) << name << ": " << status.error;
}

uint64_t test::launchCount() {
  return 0;
}

/// A kernel function has no data of its own: one function for each line of the table.
template <std::span<const cuda::DeviceKernel> (*table)(), size_t Line>
static KernelStatus runLine(const KernelCall &call) {
  return runOnDevice(table()[Line], call);
}

template <std::span<const cuda::DeviceKernel> (*table)(), size_t... Line>
static std::vector<KernelEntry> linesOf(std::index_sequence<Line...>) {
  std::array<KernelFunction, sizeof...(Line)> functions = {runLine<table, Line>...};
  std::vector<KernelEntry> lines;
  for (const cuda::DeviceKernel &kernel : table())
    lines.push_back({kernel.entry.name, {functions.at(lines.size()), kernel.entry.kernel.check}});
  return lines;
}

#ifdef TGPT_HAS_CUDNN
/// The library's wherever it has a kernel; that it had some is said at the end.
template <size_t Line> static KernelStatus runLineByCudnn(const KernelCall &call) {
  cuda::attentionOptions().choice = cuda::AttentionChoice::Library;
  KernelStatus status = runLine<cuda::cudnnKernelTable, Line>(call);
  cuda::attentionOptions().choice = cuda::AttentionChoice::Own;
  return status;
}

/// Kernels that are the same in both tables run through the other's functions, and are judged once.
template <size_t... Line>
static std::vector<KernelEntry> withAttention(std::vector<KernelEntry> lines, std::index_sequence<Line...>) {
  std::array<KernelFunction, sizeof...(Line)> functions = {runLineByCudnn<Line>...};
  for (size_t i = 0; i < lines.size(); ++i)
    if (lines[i].name.starts_with("attention"))
      lines[i].kernel.function = functions.at(i);
  return lines;
}
#endif

static constexpr std::string_view withCudnn = "cuda with cuDNN";

std::span<const CpuKernelBuild> test::judgedBuilds() {
  using Lines = std::make_index_sequence<64>;
  static const std::vector<KernelEntry> ordered = linesOf<cuda::device::kernelTable>(Lines()),
                                        fast = linesOf<cuda::cublasLtKernelTable>(Lines());
#ifdef TGPT_HAS_CUDNN
  static const std::vector<KernelEntry> attention = withAttention(fast, Lines());
  static const std::vector<CpuKernelBuild> builds = {
      {"cuda", ordered}, {"cuda with cuBLASLt", fast}, {withCudnn, attention}};
#else
  static const std::vector<CpuKernelBuild> builds = {{"cuda", ordered}, {"cuda with cuBLASLt", fast}};
#endif
  return builds;
}

bool test::roundsShares(const CpuKernelBuild &build) {
  return build.name == withCudnn;
}

bool test::isJudged(const Case &) {
  return true;
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  int devices = 0;
  if (cudaError_t status = cudaGetDeviceCount(&devices); status != cudaSuccess || devices == 0) {
    std::printf("no GPU here, nothing is judged: %s\n",
                status == cudaSuccess ? "no device" : cudaGetErrorString(status));
    return 77;
  }
  int status = RUN_ALL_TESTS();
#ifdef TGPT_HAS_CUDNN
  std::printf("attention by cuDNN: %lld calls\n", (long long)cuda::attentionCounts().library);
  if (cuda::attentionCounts().library == 0 && testing::GTEST_FLAG(filter) == "*") {
    std::printf("cuDNN took none of the cases: its attention was not judged\n");
    return 1;
  }
#endif
  return status;
}
