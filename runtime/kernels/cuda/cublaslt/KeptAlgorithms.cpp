//===- KeptAlgorithms.cpp - the choices of a thread -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cublaslt/KeptAlgorithms.h"
#include "runtime/kernels/cuda/cublaslt/ProductOptions.h"

#include <exception>
#include <mutex>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

/// Every rank of a process finds the same file.
static void warnOnce(const std::string &text) {
  static std::once_flag once;
  if (!text.empty() && productOptions().warn)
    std::call_once(once, productOptions().warn, text);
}

void KeptAlgorithms::open(const std::string &owner) {
  if (cache)
    return;
  cache.emplace(owner);
  if (!productOptions().algorithmFile.empty())
    warnOnce(cache->load(productOptions().algorithmFile));
}

void KeptAlgorithms::add(const std::string &key, const ChosenAlgorithm &algorithm, bool isNew) {
  cache->add(key, algorithm);
  hasChosen = hasChosen || isNew;
}

void KeptAlgorithms::take(const std::string &key, const std::string &name) {
  cache->take(key, name);
  hasChosen = true;
}

void KeptAlgorithms::save() const noexcept {
  if (!hasChosen || productOptions().algorithmFile.empty())
    return;
  try {
    cache->save(productOptions().algorithmFile);
  } catch (const std::exception &error) {
    warnOnce(error.what());
  }
}

KeptAlgorithms &cuda::keptAlgorithms() {
  static thread_local KeptAlgorithms own;
  return own;
}
