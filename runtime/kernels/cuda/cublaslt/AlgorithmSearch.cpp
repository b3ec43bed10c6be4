//===- AlgorithmSearch.cpp - choosing how a product is computed -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cublaslt/AlgorithmSearch.h"
#include "runtime/kernels/cuda/Queue.h"
#include "runtime/kernels/cuda/cublaslt/AlgorithmTimes.h"
#include "runtime/kernels/cuda/cublaslt/KeptAlgorithms.h"
#include "runtime/kernels/cuda/cublaslt/ProductKernels.h"
#include "runtime/kernels/cuda/cublaslt/Stopwatch.h"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(AlgorithmBits));

/// Schemes that add in the order of arrival are left out: they give other bits every time.
static constexpr uint32_t orderedSchemes =
    CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
static constexpr int mostCandidates = 16, timingRounds = 5;

static cudaStream_t stream() {
  return static_cast<cudaStream_t>(queue().stream);
}

void cuda::multiplyBy(const AlgorithmBits &bits, cublasLtHandle_t library, const ColumnMajorProduct &p,
                      const LibraryProblem &problem, Calls &calls) {
  cublasLtMatmulAlgo_t algorithm;
  std::memcpy(&algorithm, bits.data(), sizeof(bits));
  float one = 1, beta = p.accumulate ? 1 : 0;
  calls.then("cublasLtMatmul", cublasLtMatmul, library, problem.description.get(), &one, p.a, problem.a.get(), p.b,
             problem.b.get(), &beta, p.c, problem.c.get(), p.c, problem.c.get(), &algorithm, p.workspace,
             p.workspaceBytes, stream());
}

/// What the library's heuristic has, the best first.
static std::vector<AlgorithmBits> candidatesOf(cublasLtHandle_t library, const ColumnMajorProduct &p,
                                               const LibraryProblem &problem, int most, Calls &calls) {
  cublasLtMatmulPreference_t created = nullptr;
  calls.then("cublasLtMatmulPreferenceCreate", cublasLtMatmulPreferenceCreate, &created);
  Preference preference(created);
  auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    calls.then("cublasLtMatmulPreferenceSetAttribute", cublasLtMatmulPreferenceSetAttribute, preference.get(),
               attribute, &value, sizeof(value));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(p.workspaceBytes));
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, orderedSchemes);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignmentOf(p.a));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignmentOf(p.b));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignmentOf(p.c));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, std::min(alignmentOf(p.c), alignmentOfEpilogue(p)));
  std::vector<cublasLtMatmulHeuristicResult_t> results(most);
  int found = 0;
  if (calls.ok()) {
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(library, problem.description.get(), problem.a.get(),
                                                           problem.b.get(), problem.c.get(), problem.c.get(),
                                                           preference.get(), most, results.data(), &found);
    if (status != CUBLAS_STATUS_SUCCESS && status != CUBLAS_STATUS_NOT_SUPPORTED)
      calls.fail(std::string("cublasLtMatmulAlgoGetHeuristic: ") + cublasLtGetStatusString(status));
  }
  std::vector<AlgorithmBits> candidates;
  for (int i = 0; i < found; ++i)
    if (results[i].state == CUBLAS_STATUS_SUCCESS)
      std::memcpy(candidates.emplace_back().data(), &results[i].algo, sizeof(AlgorithmBits));
  return candidates;
}

namespace {
/// What a product adds to, kept while it is computed for its time alone: in memory beside the plan's arena, which has
/// no room for what is measured once.
class Saved {
public:
  Saved(const ColumnMajorProduct &p)
      : from(p.c), bytes(p.accumulate ? size_t(p.m * p.n) * sizeInBytes(p.outputType) : 0) {
    isKept = bytes == 0 || (cudaMallocAsync(&copy, bytes, stream()) == cudaSuccess &&
                            cudaMemcpyAsync(copy, from, bytes, cudaMemcpyDeviceToDevice, stream()) == cudaSuccess);
    if (!isKept)
      cudaGetLastError(); // no memory to measure in is no failure
  }
  Saved(const Saved &) = delete;
  ~Saved() {
    if (copy)
      cudaFreeAsync(copy, stream());
  }
  /// What the product adds to is as it was before.
  void restore(Calls &calls) const {
    if (bytes > 0)
      calls.then("cudaMemcpyAsync", cudaMemcpyAsync, from, copy, bytes, cudaMemcpyDeviceToDevice, stream());
  }
  bool isKept = false;

private:
  void *from, *copy = nullptr;
  size_t bytes;
};
} // namespace

void cuda::openKeptAlgorithms(Calls &calls) {
  if (keptAlgorithms().isOpen())
    return;
  int device = 0;
  cudaDeviceProp properties{};
  calls.then("cudaGetDevice", cudaGetDevice, &device);
  calls.then("cudaGetDeviceProperties", cudaGetDeviceProperties, &properties, device);
  if (calls.ok())
    keptAlgorithms().open("cublasLt " + std::to_string(cublasLtGetVersion()) + " " + properties.name + ", " +
                          std::to_string(properties.multiProcessorCount) + " multiprocessors");
}

std::optional<AlgorithmBits> cuda::chooseAlgorithm(cublasLtHandle_t library, const ColumnMajorProduct &p,
                                                   const LibraryProblem &problem, Calls &calls) {
  bool measures = productOptions().measured && !isCapturing(stream());
  std::vector<AlgorithmBits> candidates = candidatesOf(library, p, problem, measures ? mostCandidates : 1, calls);
  if (candidates.empty())
    return std::nullopt;
  if (!measures || candidates.size() == 1)
    return candidates[0];
  Saved saved(p);
  if (!saved.isKept)
    return candidates[0];
  Stopwatch watch(calls);
  std::optional<int> best = fastest(int(candidates.size()), timingRounds, [&](int i) {
    return watch.seconds(stream(), [&](Calls &own) { multiplyBy(candidates[i], library, p, problem, own); });
  });
  saved.restore(calls);
  return best ? std::optional(candidates[*best]) : std::nullopt;
}

bool cuda::isUsable(const AlgorithmBits &bits, cublasLtHandle_t library, const ColumnMajorProduct &p,
                    const LibraryProblem &problem) {
  cublasLtMatmulAlgo_t algorithm;
  std::memcpy(&algorithm, bits.data(), sizeof(bits));
  cublasLtMatmulHeuristicResult_t result{};
  uint32_t scheme = 0;
  size_t written = 0;
  return cublasLtMatmulAlgoCheck(library, problem.description.get(), problem.a.get(), problem.b.get(), problem.c.get(),
                                 problem.c.get(), &algorithm, &result) == CUBLAS_STATUS_SUCCESS &&
         result.state == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= p.workspaceBytes &&
         cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme,
                                              sizeof(scheme), &written) == CUBLAS_STATUS_SUCCESS &&
         (scheme & ~orderedSchemes) == 0;
}
