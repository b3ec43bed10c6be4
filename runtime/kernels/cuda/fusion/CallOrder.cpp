//===- CallOrder.cpp - which calls of a segment may change places ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/fusion/CallOrder.h"

#include <algorithm>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

static uintptr_t beginOf(const TensorView &view) {
  return reinterpret_cast<uintptr_t>(view.data);
}
static uintptr_t endOf(const TensorView &view) {
  return beginOf(view) + view.bytes();
}

bool cuda::overlap(const TensorView &a, const TensorView &b) {
  return beginOf(a) < endOf(b) && beginOf(b) < endOf(a);
}

bool cuda::overlapAny(const TensorView &view, std::span<const TensorView> others) {
  return std::any_of(others.begin(), others.end(), [&](const TensorView &other) { return overlap(view, other); });
}

bool cuda::isSame(const TensorView &a, const TensorView &b) {
  return a.data == b.data && a.dtype == b.dtype && a.elements() == b.elements();
}

bool cuda::commute(const KernelCall &call, const PlannedCall &earlier) {
  for (const TensorView &written : call.outputs)
    if (overlapAny(written, earlier.call.inputs) || overlapAny(written, earlier.call.outputs))
      return false;
  for (const TensorView &read : call.inputs)
    if (overlapAny(read, earlier.call.outputs) || (earlier.kernel.empty() && overlapAny(read, earlier.call.inputs)))
      return false;
  return true;
}

bool cuda::mayMoveUp(std::span<const PlannedCall> calls, size_t from, size_t to) {
  auto between = calls.subspan(to + 1, from - to - 1);
  return std::all_of(between.begin(), between.end(),
                     [&](const PlannedCall &earlier) { return commute(calls[from].call, earlier); });
}

void TouchedBytes::Ranges::add(const TensorView &view) {
  uintptr_t begin = beginOf(view), end = endOf(view);
  auto next = ends.upper_bound(begin);
  if (next != ends.begin() && std::prev(next)->second >= begin)
    --next;
  while (next != ends.end() && next->first <= end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    next = ends.erase(next);
  }
  ends[begin] = end;
}

bool TouchedBytes::Ranges::meet(const TensorView &view) const {
  auto next = ends.lower_bound(endOf(view)); // the first range that begins behind the view
  return next != ends.begin() && std::prev(next)->second > beginOf(view);
}

void TouchedBytes::add(const KernelCall &call) {
  for (const TensorView &input : call.inputs)
    read.add(input);
  for (const TensorView &output : call.outputs)
    written.add(output);
}

bool TouchedBytes::commutesWith(const KernelCall &call) const {
  auto isWritten = [&](const TensorView &view) { return written.meet(view); };
  auto isTouched = [&](const TensorView &view) { return written.meet(view) || read.meet(view); };
  return std::none_of(call.inputs.begin(), call.inputs.end(), isWritten) &&
         std::none_of(call.outputs.begin(), call.outputs.end(), isTouched);
}
