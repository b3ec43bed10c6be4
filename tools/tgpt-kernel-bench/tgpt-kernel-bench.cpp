//===- tools/tgpt-kernel-bench/tgpt-kernel-bench.cpp - rates of the kernels -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/DeviceBackends.h"
#include "runtime/backends/DeviceBench.h"
#include "runtime/kernels/bench/Measure.h"
#include "runtime/kernels/cuda/cudnn/AttentionOptions.h"
#include "runtime/plan/Error.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <omp.h>
#include <optional>

using namespace tgpt::runtime;

static constexpr const char *explanation = R"(
Every kernel of a training step of a model: best time of a call, GFLOP/s and the share of
the GEMM peak measured here (cpu: 1024^3 on the same threads; cuda: 8192^3), or GB/s with
every operand moved once and, on a device, the share of what a copy moves there, and what
its calls add to a step. In bf16 and f16 attention is measured by our kernels and, where
a device's build has it, by cuDNN; a step has the faster one.

  pretrain-tiny   4 x 512 tokens, width 384, 8 heads, 2 KV heads, hidden 1024, vocabulary 2048, 12 layers
  gpt2-124m       GPT-2 small: --batch x 1024 tokens
  smallest        the same with 8 tokens and one layer, to try things out

On a device, operands that fit its cache may be faster than its memory: more than 100%.
)";

struct Options {
  std::vector<std::string> dtypes = {"f32", "bf16"};
  std::string kernel, build, backend = "cpu", model = "pretrain-tiny";
  int threads = 1;
  int64_t batch = 16;
  double seconds = 0.05;
  bool isCanonical = false;
};

/// Where calls are measured, and what bounds them.
struct Bench {
  std::string title; ///< "build x86-64-v3, GEMM peak 80 GFLOP/s"
  std::function<double(const Workload &)> secondsOf;
  /// By a library that has the call too; nothing where there is none.
  std::function<std::optional<double>(const Workload &)> librarySecondsOf = [](const Workload &) {
    return std::nullopt;
  };
  double peakFlopsPerSecond = 0;
  double peakBytesPerSecond = 0; ///< 0: unknown
};

static ModelSizes sizesOf(const Options &options) {
  if (options.model == "gpt2-124m")
    return gpt2Sizes(options.batch);
  if (options.model == "smallest")
    return {.batch = 1,
            .sequence = 8,
            .width = 16,
            .heads = 2,
            .kvHeads = 2,
            .hidden = 16,
            .vocabulary = 32,
            .layers = 1,
            .isGpt2 = true};
  return {};
}

static const CpuKernelBuild &chooseBuild(const std::string &name) {
  std::string known;
  for (const CpuKernelBuild &build : cpuKernelBuilds()) {
    if (name.empty() ? &build == &cpuKernelBuilds().back() : build.name == name)
      return build;
    known += (known.empty() ? "" : ", ") + std::string(build.name);
  }
  throw Error("no build " + name + " on this processor; there are " + known);
}

/// A row; of two for one call, the slower adds nothing to the step.
static void printRow(const Workload &call, const std::string &title, const Bench &bench, double seconds,
                     bool isCounted) {
  double bytesPerSecond = call.bytes() / seconds;
  std::printf("%-36s %10.3f", title.c_str(), seconds * 1e3);
  if (call.flops > 0)
    std::printf(" %10.1f %7.0f%%", call.flops / seconds * 1e-9, 100 * call.flops / seconds / bench.peakFlopsPerSecond);
  else if (bench.peakBytesPerSecond > 0)
    std::printf(" %10s %7.0f%%", "", 100 * bytesPerSecond / bench.peakBytesPerSecond);
  else
    std::printf(" %10s %8s", "", "");
  std::printf(" %8.1f", bytesPerSecond * 1e-9);
  isCounted ? std::printf(" %10.2f\n", double(call.countPerStep) * seconds * 1e3) : std::printf(" %10s\n", "-");
  std::fflush(stdout);
}

static void benchWorkload(const Workload &call, const Bench &bench, double &stepSeconds) {
  double own = bench.secondsOf(call);
  std::optional<double> librarys = bench.librarySecondsOf(call);
  bool isOwn = !librarys || own <= *librarys;
  std::string title = call.kernel + (call.role.empty() ? "" : " (" + call.role + ")");
  printRow(call, title, bench, own, isOwn);
  if (librarys)
    printRow(call, title + " by cuDNN", bench, *librarys, !isOwn);
  stepSeconds += double(call.countPerStep) * (isOwn ? own : *librarys);
}

static Bench cpuBench(DType dtype, const Options &options) {
  const CpuKernelBuild &build = chooseBuild(options.build);
  Bench bench;
  bench.peakFlopsPerSecond = measureGemmPeakFlopsPerSecond(dtype);
  bench.secondsOf = [&build, &options](const Workload &call) {
    return measureSeconds(call, *findKernel(build.table, call.kernel), options.seconds);
  };
  char text[160];
  std::snprintf(text, sizeof(text), "%d thread%s, build %s, GEMM peak %.0f GFLOP/s", options.threads,
                options.threads == 1 ? "" : "s", std::string(build.name).c_str(), bench.peakFlopsPerSecond * 1e-9);
  bench.title = text;
  return bench;
}

static std::optional<double> secondsByLibrary(DeviceBench &device, const Workload &call, double budgetSeconds) {
  if (!call.kernel.starts_with("attention"))
    return std::nullopt;
  int64_t before = cuda::attentionCounts().library;
  std::optional<double> seconds;
  cuda::attentionOptions().choice = cuda::AttentionChoice::Library;
  try {
    seconds = device.secondsOf(call, budgetSeconds);
  } catch (const Error &error) { // all else is measured without it
    std::cerr << "tgpt-kernel-bench: warning: " << error.what() << std::endl;
  }
  cuda::attentionOptions().choice = cuda::AttentionChoice::Own;
  return cuda::attentionCounts().library > before ? seconds : std::nullopt;
}

/// The product and the copy that others are measured by: large for a GPU, small where it is emulated.
static Bench deviceBench(DType dtype, const Options &options) {
  bool isReal = options.backend == "cuda";
  auto device = std::make_shared<DeviceBench>(isReal ? cudaBackend() : emulatedBackend());
  int64_t size = isReal ? 8192 : 32;
  OperandShape square{dtype, {size, size}};
  Workload product{"linear", "peak", {square, square}, {square}, {}, 2.0 * double(size) * double(size) * double(size)};
  Bench bench;
  bench.peakFlopsPerSecond = product.flops / device->secondsOf(product, isReal ? 0.3 : 0);
  bench.peakBytesPerSecond = device->copyBytesPerSecond(isReal ? size_t(1) << 30 : 1 << 16, isReal ? 0.3 : 0);
  bench.secondsOf = [device, &options](const Workload &call) { return device->secondsOf(call, options.seconds); };
  bench.librarySecondsOf = [device, &options](const Workload &call) {
    return secondsByLibrary(*device, call, options.seconds);
  };
  char text[200];
  std::snprintf(text, sizeof(text), "%s, GEMM peak %.0f GFLOP/s, copy %.0f GB/s", device->describe().c_str(),
                bench.peakFlopsPerSecond * 1e-9, bench.peakBytesPerSecond * 1e-9);
  bench.title = text;
  return bench;
}

static void benchDType(DType dtype, const Options &options) {
  Bench bench = options.backend == "cpu" ? cpuBench(dtype, options) : deviceBench(dtype, options);
  double stepSeconds = 0;
  std::printf("%s, %s\n", std::string(name(dtype)).c_str(), bench.title.c_str());
  std::printf("%-36s %10s %10s %8s %8s %10s\n", "kernel", "ms", "GFLOP/s", "of peak", "GB/s", "ms/step");
  bool found = false;
  for (const Workload &call : trainingStepWorkloads(sizesOf(options), dtype, options.isCanonical))
    if (options.kernel.empty() || call.kernel == options.kernel) {
      benchWorkload(call, bench, stepSeconds);
      found = true;
    }
  if (!found)
    throw Error("no kernel " + options.kernel + " in the benchmark");
  std::printf("%-36s %10s %10s %8s %8s %10.2f\n\n", "sum", "", "", "", "", stepSeconds * 1e3);
}

static int run(int argc, char **argv) {
  CLI::App app("Measures the kernels.", "tgpt-kernel-bench");
  app.footer(explanation);
  Options options;
  const std::map<std::string, DType> types = {
      {"f64", DType::F64}, {"f32", DType::F32}, {"bf16", DType::BF16}, {"f16", DType::F16}};
  app.add_option("--dtype", options.dtypes, "f64, f32, bf16, f16 (default: f32 bf16)")->check(CLI::IsMember(types));
  app.add_option("--kernel", options.kernel, "only this kernel");
  app.add_option("--backend", options.backend,
                 "cpu, cuda, or cuda-emulated: its times say nothing, it tries things out")
      ->check(CLI::IsMember({"cpu", "cuda", "cuda-emulated"}))
      ->capture_default_str();
  app.add_option("--model", options.model, "whose step: pretrain-tiny, gpt2-124m or smallest")
      ->check(CLI::IsMember({"pretrain-tiny", "gpt2-124m", "smallest"}))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "sequences of gpt2-124m")->check(CLI::Range(1, 4096))->capture_default_str();
  app.add_option("--build", options.build, "x86-64-v2, x86-64-v3, x86-64-v4 (default: the best)");
  app.add_option("--threads", options.threads, "threads of each call")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_flag("--canonical", options.isCanonical, "products and attention in the order that no grid changes");
  app.add_option("--seconds", options.seconds, "time spent on each call")->check(CLI::PositiveNumber);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &help) {
    return app.exit(help);
  }
  omp_set_num_threads(options.threads);
  for (const std::string &dtype : options.dtypes)
    benchDType(types.at(dtype), options);
  return 0;
}

int main(int argc, char **argv) try { return run(argc, argv); } catch (const std::exception &error) {
  std::cerr << "tgpt-kernel-bench: error: " << error.what() << "\n";
  return 1;
}
