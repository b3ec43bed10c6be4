//===- Variants.h - the choices next to a configuration ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_DRIVER_VARIANTS_H
#define TGPT_COMPILER_DRIVER_VARIANTS_H

#include "compiler/driver/CompileOptions.h"
#include <string>
#include <utility>
#include <vector>

namespace tgpt {

/// A configuration that differs in one choice.
struct Variant {
  Variant(std::string change, const CompileOptions &options) : change(std::move(change)), options(options) {}

  std::string change; ///< flags that make it of the other: "--recompute=full"
  CompileOptions options;
};

/// The choices that trade memory for time on the same ranks and the same samples of a step:
/// recompute, zero, sequence parallelism, samples of a micro-batch.
std::vector<Variant> variantsOf(const CompileOptions &options);

} // namespace tgpt

#endif // TGPT_COMPILER_DRIVER_VARIANTS_H
