//===- tools/tgpt-kernel-bench/tgpt-kernel-bench.cpp - rates of the cpu kernels --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/bench/Measure.h"
#include "runtime/plan/Error.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <map>
#include <omp.h>

using namespace tgpt::runtime;

static constexpr const char *explanation = R"(
Every kernel of a training step of pretrain_tiny (4 x 512 tokens, width 384, 8 heads, 2 KV
heads, hidden 1024, vocabulary 2048, 12 layers): best time of a call, GFLOP/s and the share
of this machine's GEMM peak (1024^3 on the same threads), or GB/s with every operand moved
once, and what its calls add to a step.
)";

struct Options {
  std::vector<std::string> dtypes = {"f32", "bf16"};
  std::string kernel, build;
  int threads = 1;
  double seconds = 0.05;
  bool isCanonical = false;
};

static const CpuKernelBuild &chooseBuild(const std::string &name) {
  std::string known;
  for (const CpuKernelBuild &build : cpuKernelBuilds()) {
    if (name.empty() ? &build == &cpuKernelBuilds().back() : build.name == name)
      return build;
    known += (known.empty() ? "" : ", ") + std::string(build.name);
  }
  throw Error("no build " + name + " on this processor; there are " + known);
}

static void benchWorkload(const Workload &call, const Options &options, const CpuKernelBuild &build, double peak,
                          double &stepSeconds) {
  double seconds = measureSeconds(call, *findKernel(build.table, call.kernel), options.seconds);
  std::string title = call.kernel + (call.role.empty() ? "" : " (" + call.role + ")");
  std::printf("%-36s %10.3f", title.c_str(), seconds * 1e3);
  if (call.flops > 0)
    std::printf(" %10.1f %7.0f%%", call.flops / seconds * 1e-9, 100 * call.flops / seconds / peak);
  else
    std::printf(" %10s %8s", "", "");
  std::printf(" %8.1f %10.2f\n", call.bytes() / seconds * 1e-9, double(call.countPerStep) * seconds * 1e3);
  stepSeconds += double(call.countPerStep) * seconds;
}

static void benchDType(DType dtype, const Options &options) {
  const CpuKernelBuild &build = chooseBuild(options.build);
  double peak = measureGemmPeakFlopsPerSecond(dtype), stepSeconds = 0;
  std::printf("%s, %d thread%s, build %s, GEMM peak %.0f GFLOP/s\n", std::string(name(dtype)).c_str(), options.threads,
              options.threads == 1 ? "" : "s", std::string(build.name).c_str(), peak * 1e-9);
  std::printf("%-36s %10s %10s %8s %8s %10s\n", "kernel", "ms", "GFLOP/s", "of peak", "GB/s", "ms/step");
  bool found = false;
  for (const Workload &call : trainingStepWorkloads({}, dtype, options.isCanonical))
    if (options.kernel.empty() || call.kernel == options.kernel) {
      benchWorkload(call, options, build, peak, stepSeconds);
      found = true;
    }
  if (!found)
    throw Error("no kernel " + options.kernel + " in the benchmark");
  std::printf("%-36s %10s %10s %8s %8s %10.2f\n\n", "sum", "", "", "", "", stepSeconds * 1e3);
}

static int run(int argc, char **argv) {
  CLI::App app("Measures the cpu kernels.", "tgpt-kernel-bench");
  app.footer(explanation);
  Options options;
  const std::map<std::string, DType> types = {
      {"f64", DType::F64}, {"f32", DType::F32}, {"bf16", DType::BF16}, {"f16", DType::F16}};
  app.add_option("--dtype", options.dtypes, "f64, f32, bf16, f16 (default: f32 bf16)")->check(CLI::IsMember(types));
  app.add_option("--kernel", options.kernel, "only this kernel");
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
