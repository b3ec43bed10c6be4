//===- CublasLt.cpp - products through cuBLASLt ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A handle for each thread, which has one device. The first call of a product chooses its
// algorithm; every later one, and a run that loaded the file, takes that.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cublaslt/CublasLt.h"
#include "runtime/kernels/cuda/cublaslt/AlgorithmSearch.h"
#include "runtime/kernels/cuda/cublaslt/KeptAlgorithms.h"
#include "runtime/kernels/cuda/cublaslt/ProductKernels.h"

#include <set>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

namespace {
/// What a thread keeps.
struct Products {
  Library library;
  std::set<std::string> withoutAlgorithm;
  std::string lastError;

  void open(Calls &calls);
  const AlgorithmBits *algorithmOf(const ColumnMajorProduct &p, const LibraryProblem &problem, Calls &calls);
};
} // namespace

static thread_local Products products;

void Products::open(Calls &calls) {
  if (library)
    return;
  openKeptAlgorithms(calls);
  cublasLtHandle_t created = nullptr;
  calls.then("cublasLtCreate", cublasLtCreate, &created);
  library.reset(created);
}

/// Null where the library has none.
const AlgorithmBits *Products::algorithmOf(const ColumnMajorProduct &p, const LibraryProblem &problem, Calls &calls) {
  std::string key = p.key();
  if (withoutAlgorithm.count(key))
    return nullptr;
  KeptAlgorithms &algorithms = keptAlgorithms();
  const ChosenAlgorithm *chosen = algorithms.find(key);
  if (!chosen || !chosen->isProven) {
    bool isKept = chosen && isUsable(chosen->bits, library.get(), p, problem);
    std::optional<AlgorithmBits> bits =
        isKept ? std::optional(chosen->bits) : chooseAlgorithm(library.get(), p, problem, calls);
    if (!bits) {
      withoutAlgorithm.insert(key);
      return nullptr;
    }
    algorithms.add(key, {*bits, true}, !isKept);
  }
  return &algorithms.find(key)->bits;
}

namespace {
struct Provider {
  static std::span<const DeviceKernel> ordered() { return device::kernelTable(); }

  static bool supports(const ColumnMajorProduct &p) {
    Calls calls;
    products.open(calls);
    if (!calls.ok())
      return true; // multiply says what is wrong
    LibraryProblem problem(p, calls);
    return calls.ok() && products.algorithmOf(p, problem, calls);
  }

  static KernelStatus multiply(const ColumnMajorProduct &p) {
    Calls calls;
    products.open(calls);
    if (calls.ok()) {
      LibraryProblem problem(p, calls);
      const AlgorithmBits *algorithm = calls.ok() ? products.algorithmOf(p, problem, calls) : nullptr;
      if (algorithm)
        multiplyBy(*algorithm, products.library.get(), p, problem, calls);
      else
        calls.fail("cublasLtMatmulAlgoGetHeuristic: no algorithm for " + p.key() + " in " +
                   std::to_string(p.workspaceBytes) + " bytes of workspace");
    }
    products.lastError = calls.what();
    return {products.lastError.empty() ? nullptr : products.lastError.c_str()};
  }
};
} // namespace

std::span<const DeviceKernel> cuda::cublasLtKernelTable() {
  static const std::vector<DeviceKernel> table = ProductKernels<Provider>::table();
  return table;
}

std::span<const FusedKernel> cuda::cublasLtFusedKernels() {
  static const std::vector<FusedKernel> kernels = ProductKernels<Provider>::fused();
  return kernels;
}
