//===- CublasLt.cpp - products through cuBLASLt -----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A handle and a cache of algorithms for each thread, which has one device. The first
// call of a product asks the library's heuristic for the best algorithm that fits the
// workspace; every later one, and a run that loaded the file, takes that.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cublaslt/CublasLt.h"
#include "runtime/kernels/cuda/Queue.h"
#include "runtime/kernels/cuda/cublaslt/AlgorithmCache.h"
#include "runtime/kernels/cuda/cublaslt/ColumnMajorProduct.h"
#include "runtime/plan/Error.h"

#include <cstring>
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <memory>
#include <optional>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

/// What the library asks for on sm_90; a smaller workspace would exclude fast algorithms.
static constexpr size_t productWorkspaceBytes = size_t(32) << 20;

static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(AlgorithmBits));

namespace {
/// The first call of the library that failed; later ones are not made.
class Calls {
public:
  template <typename Function, typename... Arguments>
  void then(const char *name, Function function, Arguments... arguments) {
    if (!error.empty())
      return;
    if (cublasStatus_t status = function(arguments...); status != CUBLAS_STATUS_SUCCESS)
      error = std::string(name) + ": " + cublasLtGetStatusString(status);
  }
  void fail(std::string what) {
    if (error.empty())
      error = std::move(what);
  }
  bool ok() const { return error.empty(); }
  const std::string &what() const { return error; }

private:
  std::string error;
};

template <typename Handle, cublasStatus_t (*destroy)(Handle)> struct Destroy {
  using pointer = Handle;
  void operator()(Handle handle) const { destroy(handle); }
};
template <typename Handle, cublasStatus_t (*destroy)(Handle)>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<Handle, destroy>>;

using Library = Owned<cublasLtHandle_t, cublasLtDestroy>;
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

/// What a thread keeps.
struct Products {
  Library library;
  std::optional<AlgorithmCache> algorithms;

  void open(Calls &calls);
};
} // namespace

static thread_local Products products;
static thread_local std::string lastError;

void Products::open(Calls &calls) {
  if (library)
    return;
  cublasLtHandle_t created = nullptr;
  calls.then("cublasLtCreate", cublasLtCreate, &created);
  if (!calls.ok())
    return;
  library.reset(created);
  int device = 0;
  cudaDeviceProp properties{};
  if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&properties, device) != cudaSuccess)
    return calls.fail(std::string("cudaGetDeviceProperties: ") + cudaGetErrorString(cudaGetLastError()));
  algorithms.emplace("cublasLt " + std::to_string(cublasLtGetVersion()) + " " + properties.name);
}

static cudaDataType_t libraryType(DType dtype) {
  switch (dtype) {
  case DType::F64: return CUDA_R_64F;
  case DType::BF16: return CUDA_R_16BF;
  case DType::F16: return CUDA_R_16F;
  default: return CUDA_R_32F;
  }
}

namespace {
/// The library's view of a product.
struct Problem {
  Problem(const ColumnMajorProduct &p, Calls &calls);

  Description description;
  Layout a, b, c;
};
} // namespace

static Layout layoutOf(DType dtype, int64_t rows, int64_t columns, int64_t distance, Calls &calls) {
  cublasLtMatrixLayout_t created = nullptr;
  calls.then("cublasLtMatrixLayoutCreate", cublasLtMatrixLayoutCreate, &created, libraryType(dtype), uint64_t(rows),
             uint64_t(columns), distance);
  return Layout(created);
}

template <typename Value>
static void describe(Description &description, cublasLtMatmulDescAttributes_t attribute, Value value, Calls &calls) {
  calls.then("cublasLtMatmulDescSetAttribute", cublasLtMatmulDescSetAttribute, description.get(), attribute, &value,
             sizeof(value));
}

Problem::Problem(const ColumnMajorProduct &p, Calls &calls) {
  bool isDouble = p.inputType == DType::F64;
  cublasLtMatmulDesc_t created = nullptr;
  calls.then("cublasLtMatmulDescCreate", cublasLtMatmulDescCreate, &created,
             isDouble ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, isDouble ? CUDA_R_64F : CUDA_R_32F);
  description.reset(created);
  describe(description, CUBLASLT_MATMUL_DESC_TRANSA, p.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N, calls);
  describe(description, CUBLASLT_MATMUL_DESC_TRANSB, p.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N, calls);
  if (p.bias) {
    describe(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS, calls);
    describe(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias, calls);
  }
  a = p.transposeA ? layoutOf(p.inputType, p.k, p.m, p.lda, calls) : layoutOf(p.inputType, p.m, p.k, p.lda, calls);
  b = p.transposeB ? layoutOf(p.inputType, p.n, p.k, p.ldb, calls) : layoutOf(p.inputType, p.k, p.n, p.ldb, calls);
  c = layoutOf(p.outputType, p.m, p.n, p.ldc, calls);
}

template <typename Value>
static void prefer(Preference &preference, cublasLtMatmulPreferenceAttributes_t attribute, Value value, Calls &calls) {
  calls.then("cublasLtMatmulPreferenceSetAttribute", cublasLtMatmulPreferenceSetAttribute, preference.get(), attribute,
             &value, sizeof(value));
}

/// The best algorithm of the library's heuristic.
static AlgorithmBits chooseAlgorithm(const ColumnMajorProduct &p, const Problem &problem, Calls &calls) {
  cublasLtMatmulPreference_t created = nullptr;
  calls.then("cublasLtMatmulPreferenceCreate", cublasLtMatmulPreferenceCreate, &created);
  Preference preference(created);
  prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(productWorkspaceBytes), calls);
  prefer(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE), calls);
  prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignmentOf(p.a), calls);
  prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignmentOf(p.b), calls);
  prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignmentOf(p.c), calls);
  prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignmentOf(p.c), calls);
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  calls.then("cublasLtMatmulAlgoGetHeuristic", cublasLtMatmulAlgoGetHeuristic, products.library.get(),
             problem.description.get(), problem.a.get(), problem.b.get(), problem.c.get(), problem.c.get(),
             preference.get(), 1, &result, &found);
  if (found == 0)
    calls.fail("cublasLtMatmulAlgoGetHeuristic: no algorithm for " + p.key());
  AlgorithmBits bits;
  std::memcpy(bits.data(), &result.algo, sizeof(bits));
  return bits;
}

static void multiply(const ColumnMajorProduct &p, const Problem &problem, const AlgorithmBits &bits, Calls &calls) {
  cublasLtMatmulAlgo_t algorithm;
  std::memcpy(&algorithm, bits.data(), sizeof(bits));
  float one = 1, beta = p.accumulate ? 1 : 0;
  double wideOne = 1, wideBeta = beta;
  bool isDouble = p.inputType == DType::F64;
  const void *alpha = isDouble ? static_cast<const void *>(&wideOne) : &one;
  const void *added = isDouble ? static_cast<const void *>(&wideBeta) : &beta;
  calls.then("cublasLtMatmul", cublasLtMatmul, products.library.get(), problem.description.get(), alpha, p.a,
             problem.a.get(), p.b, problem.b.get(), added, p.c, problem.c.get(), p.c, problem.c.get(), &algorithm,
             queue().workspace, productWorkspaceBytes, static_cast<cudaStream_t>(queue().stream));
}

static KernelStatus compute(const ColumnMajorProduct &p) {
  if (queue().workspaceBytes < productWorkspaceBytes)
    return {workspaceTooSmall};
  Calls calls;
  products.open(calls);
  if (calls.ok()) {
    Problem problem(p, calls);
    std::string key = p.key();
    if (calls.ok() && !products.algorithms->find(key))
      if (AlgorithmBits bits = chooseAlgorithm(p, problem, calls); calls.ok())
        products.algorithms->add(key, bits);
    if (calls.ok())
      multiply(p, problem, *products.algorithms->find(key), calls);
  }
  lastError = calls.what();
  return {lastError.empty() ? nullptr : lastError.c_str()};
}

/// The kernel whose order is fixed.
static const DeviceKernel &ordered(std::string_view name) {
  for (const DeviceKernel &kernel : device::kernelTable())
    if (kernel.entry.name == name)
      return kernel;
  throw Error("the table of device kernels has no " + std::string(name));
}

template <ColumnMajorProduct (*productOf)(const KernelCall &)>
static KernelStatus product(const KernelCall &call, const char *name) {
  return call.attributes->integer("chunks") > 0 ? ordered(name).entry.kernel.function(call) : compute(productOf(call));
}

static KernelStatus linear(const KernelCall &call) {
  return product<linearProduct>(call, "linear");
}
static KernelStatus linearDgrad(const KernelCall &call) {
  return product<linearDgradProduct>(call, "linear_dgrad");
}
static KernelStatus linearWgrad(const KernelCall &call) {
  return product<linearWgradProduct>(call, "linear_wgrad");
}

static size_t productWorkspace(const KernelCall &call) {
  return call.attributes->integer("chunks") > 0 ? 0 : productWorkspaceBytes;
}

std::span<const DeviceKernel> cuda::cublasLtKernelTable() {
  static const std::vector<DeviceKernel> table = [] {
    std::vector<DeviceKernel> kernels;
    for (DeviceKernel kernel : device::kernelTable()) {
      for (auto [name, function] : {std::pair<std::string_view, KernelFunction>("linear", linear),
                                    {"linear_dgrad", linearDgrad},
                                    {"linear_wgrad", linearWgrad}})
        if (kernel.entry.name == name) {
          kernel.entry.kernel.function = function;
          kernel.workspaceBytes = productWorkspace;
        }
      kernels.push_back(kernel);
    }
    return kernels;
  }();
  return table;
}

/// This thread's cache, opened.
static AlgorithmCache &openedCache() {
  Calls calls;
  products.open(calls);
  if (!calls.ok())
    throw Error(calls.what());
  return *products.algorithms;
}

bool cuda::loadProductAlgorithms(const std::string &path) {
  return openedCache().load(path);
}

void cuda::saveProductAlgorithms(const std::string &path) {
  openedCache().save(path);
}
