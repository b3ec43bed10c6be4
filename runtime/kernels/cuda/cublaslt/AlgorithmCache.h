//===- AlgorithmCache.h - how each product is computed ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An algorithm is chosen once for each product and kept: in memory, and in a text file
// for the next run; and so is whose kernel a call takes, by name. A choice belongs to one version of the library and
// one kind of device, which the file's first line names. A file of another, or a damaged one, is passed over as a
// whole, with a warning; the next save replaces it.
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

struct ChosenAlgorithm {
  AlgorithmBits bits{};
  bool isProven = false; ///< chosen or checked by the library in this process
};

class AlgorithmCache {
public:
  /// `owner`: library version and device, one line.
  explicit AlgorithmCache(std::string owner) : owner(std::move(owner)) {}

  const ChosenAlgorithm *find(const std::string &key) const;
  void add(const std::string &key, const ChosenAlgorithm &algorithm) { algorithms[key] = algorithm; }
  /// Whose kernel the call takes, by name; null: not chosen.
  const std::string *findTaken(const std::string &key) const;
  /// `name` is a word.
  void take(const std::string &key, const std::string &name) { taken[key] = name; }
  size_t size() const { return algorithms.size() + taken.size(); }

  /// Takes what the file has beside what is here already. Empty, also where there is no file,
  /// or why it was passed over, in one line.
  std::string load(const std::string &path);
  /// Writes all, and what another rank has put into the file meanwhile, atomically. Throws Error,
  /// also rather than replace a file that is something else.
  void save(const std::string &path) const;

private:
  std::string owner;
  std::map<std::string, ChosenAlgorithm> algorithms;
  std::map<std::string, std::string> taken;
};

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_ALGORITHMCACHE_H
