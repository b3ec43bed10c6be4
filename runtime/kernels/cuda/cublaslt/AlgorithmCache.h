//===- AlgorithmCache.h - how each product is computed ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An algorithm is chosen once for each product and kept: in memory, and in a text file
// for the next run. It belongs to one version of the library and one kind of device,
// which the file's first line names; a file of another is passed over.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_ALGORITHMCACHE_H
#define TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_ALGORITHMCACHE_H

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace tgpt::runtime::cuda {

/// The bits of a cublasLtMatmulAlgo_t, which the library allows to keep.
using AlgorithmBits = std::array<uint64_t, 8>;

class AlgorithmCache {
public:
  /// `owner`: library version and device, one line.
  explicit AlgorithmCache(std::string owner) : owner(std::move(owner)) {}

  const AlgorithmBits *find(const std::string &key) const;
  void add(const std::string &key, const AlgorithmBits &algorithm) { algorithms[key] = algorithm; }
  size_t size() const { return algorithms.size(); }

  /// Takes what the file has; false where there is none, or it is another owner's.
  /// Throws Error where a line is damaged.
  bool load(const std::string &path);
  /// Writes all, atomically. Throws Error.
  void save(const std::string &path) const;

private:
  std::string owner;
  std::map<std::string, AlgorithmBits> algorithms;
};

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_ALGORITHMCACHE_H
