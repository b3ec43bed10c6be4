//===- CallOrder.h - which calls of a segment may change places ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls that become one run where the first of them stands, so the others move up. What a
// plan's order is for can be read from the bytes: nobody may write what an earlier call
// touches, or read what it writes.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_FUSION_CALLORDER_H
#define TGPT_RUNTIME_KERNELS_CUDA_FUSION_CALLORDER_H

#include "runtime/kernels/api/Kernel.h"

#include <map>

namespace tgpt::runtime::cuda {

/// An instruction of a segment, in its order. Without a kernel it is something else (a
/// collective, a wait): all its operands count as written.
struct PlannedCall {
  std::string_view kernel;
  KernelCall call;
  /// Of each output: whether just one instruction of the plan takes it. Empty: not known.
  std::vector<bool> isTakenOnce{};
};

bool overlap(const TensorView &a, const TensorView &b);
bool overlapAny(const TensorView &view, std::span<const TensorView> others);

/// The same elements at the same place, whatever dimensions they are seen in.
bool isSame(const TensorView &a, const TensorView &b);

/// Whether `call` may run before `earlier` as well as after it.
bool commute(const KernelCall &call, const PlannedCall &earlier);

/// Whether the call at `from` may run behind that at `to`, before all that stand between.
bool mayMoveUp(std::span<const PlannedCall> calls, size_t from, size_t to);

/// Bytes that some kernel calls read and write: whether one more may run before all of them.
class TouchedBytes {
public:
  void add(const KernelCall &call);
  bool commutesWith(const KernelCall &call) const;

private:
  /// Ranges that do not meet: begin -> end.
  class Ranges {
  public:
    void add(const TensorView &view);
    bool meet(const TensorView &view) const;

  private:
    std::map<uintptr_t, uintptr_t> ends;
  };
  Ranges read, written;
};

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_FUSION_CALLORDER_H
