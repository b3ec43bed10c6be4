//===- Variants.cpp - the choices next to a configuration ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Variants.h"

using namespace tgpt;

static void addRecompute(const CompileOptions &options, std::vector<Variant> &variants) {
  for (const char *mode : {"none", "selective", "full"})
    if (options.recompute != mode) {
      Variant &variant = variants.emplace_back(std::string("--recompute=") + mode, options);
      variant.options.recompute = mode;
    }
}

static void addZero(const CompileOptions &options, std::vector<Variant> &variants) {
  for (int64_t zero = 0; zero <= 3 && options.dp > 1; ++zero)
    if (options.zero != zero) {
      std::string change = "--zero=" + std::to_string(zero); // without --zero nothing is shared out in groups
      change += zero == 0 && options.zeroGroup > 0 ? " --zero-group=0" : "";
      Variant &variant = variants.emplace_back(change, options);
      variant.options.zero = zero;
      variant.options.zeroGroup = zero == 0 ? 0 : options.zeroGroup;
    }
}

static void addMicroBatch(const CompileOptions &options, int64_t samples, int64_t count,
                          std::vector<Variant> &variants) {
  Variant &variant = variants.emplace_back(
      "--micro-batch-samples=" + std::to_string(samples) + " --micro-batches=" + std::to_string(count), options);
  variant.options.microBatchSamples = samples;
  variant.options.microBatches = count;
}

std::vector<Variant> tgpt::variantsOf(const CompileOptions &options) {
  std::vector<Variant> variants;
  addRecompute(options, variants);
  addZero(options, variants);
  if (options.tp > 1) {
    bool isOn = options.sequenceParallel;
    variants.emplace_back(isOn ? "without --sp" : "--sp", options).options.sequenceParallel = !isOn;
  }
  if (options.microBatchSamples % 2 == 0)
    addMicroBatch(options, options.microBatchSamples / 2, options.microBatches * 2, variants);
  if (options.microBatches % 2 == 0)
    addMicroBatch(options, options.microBatchSamples * 2, options.microBatches / 2, variants);
  return variants;
}
