//===- KeptAlgorithms.h - the choices of a thread ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has one device. What was chosen for its calls begins with the file that
// ProductOptions name, and goes back into it when the thread ends.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_KEPTALGORITHMS_H
#define TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_KEPTALGORITHMS_H

#include "runtime/kernels/cuda/cublaslt/AlgorithmCache.h"

#include <optional>

namespace tgpt::runtime::cuda {

class KeptAlgorithms {
public:
  KeptAlgorithms() = default;
  KeptAlgorithms(const KeptAlgorithms &) = delete;
  ~KeptAlgorithms() { save(); }

  bool isOpen() const { return cache.has_value(); }
  /// Reads the file, unless that was done. `owner`: library version and device.
  void open(const std::string &owner);

  const ChosenAlgorithm *find(const std::string &key) const { return cache->find(key); }
  const std::string *findTaken(const std::string &key) const { return cache->findTaken(key); }
  /// `isNew`: no file has it.
  void add(const std::string &key, const ChosenAlgorithm &algorithm, bool isNew);
  void take(const std::string &key, const std::string &name);

private:
  void save() const noexcept;

  std::optional<AlgorithmCache> cache;
  bool hasChosen = false; ///< what no file has
};

/// This thread's.
KeptAlgorithms &keptAlgorithms();

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_KEPTALGORITHMS_H
