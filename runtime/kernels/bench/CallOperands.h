//===- CallOperands.h - memory for the operands of a call -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_BENCH_CALLOPERANDS_H
#define TGPT_RUNTIME_KERNELS_BENCH_CALLOPERANDS_H

#include "runtime/kernels/bench/Workloads.h"

#include <cstdlib>
#include <memory>

namespace tgpt::runtime {

/// An operand's view, without memory.
TensorView viewOf(const OperandShape &operand);
/// Values that no kernel minds: reals in [0.25, 0.5), ids below 16.
void fillWithValues(const TensorView &view);

/// A workload's call without memory: all that its size and dtype follow from. Keeps a reference to the workload.
class CallViews {
public:
  explicit CallViews(const Workload &workload);

  KernelCall call() const { return {inputs, outputs, &workload.attributes}; }

private:
  const Workload &workload;
  std::vector<TensorView> inputs, outputs;
};

/// A workload's operands in memory of their own, with such values. Keeps a reference to the workload.
class CallOperands {
public:
  explicit CallOperands(const Workload &workload);

  KernelCall call() const { return {inputs, outputs, &workload.attributes}; }

private:
  TensorView add(const OperandShape &operand);
  struct Free {
    void operator()(char *pointer) const { std::free(pointer); }
  };

  const Workload &workload;
  std::vector<std::unique_ptr<char, Free>> memory;
  std::vector<TensorView> inputs, outputs;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_KERNELS_BENCH_CALLOPERANDS_H
