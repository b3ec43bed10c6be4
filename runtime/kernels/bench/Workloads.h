//===- Workloads.h - the kernel calls of a training step --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_BENCH_WORKLOADS_H
#define TGPT_RUNTIME_KERNELS_BENCH_WORKLOADS_H

#include "runtime/kernels/api/Kernel.h"

#include <string>
#include <vector>

namespace tgpt::runtime {

struct OperandShape {
  DType dtype;
  std::vector<int64_t> shape;
};

/// One kernel call, what it computes and what it must at least move.
struct Workload {
  std::string kernel;
  std::string role; ///< "qkv", "mlp up"
  std::vector<OperandShape> inputs;
  std::vector<OperandShape> outputs;
  Attributes attributes;
  double flops = 0; ///< 0 where the kernel is bound by memory
  int64_t countPerStep = 1;

  /// Bytes of all operands, each once.
  double bytes() const;
};

/// Sizes of a LLaMA-like model and its batch; or of one like GPT-2: layer_norm, gelu, biases, learned positions.
struct ModelSizes {
  int64_t batch = 4, sequence = 512, width = 384, heads = 8, kvHeads = 2, hidden = 1024, vocabulary = 2048;
  int64_t layers = 12;
  bool isGpt2 = false;
};

/// GPT-2 with 124 M parameters on sequences of 1024; the vocabulary padded to a multiple of 128.
ModelSizes gpt2Sizes(int64_t batch);

/// The calls of one training step in compute dtype `compute`, each kind once; canonically,
/// products and attention have attribute `chunks`.
std::vector<Workload> trainingStepWorkloads(const ModelSizes &sizes, DType compute, bool isCanonical = false);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_KERNELS_BENCH_WORKLOADS_H
