//===- DeviceRates.h - the rates that a step's closed form is made of ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device as the closed-form model of a training step sees it: one curve of matrix
// products per operand type, fused attention, memory, and what power leaves of
// them. Numbers only, so that an evaluation touches no heap.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_DEVICERATES_H
#define TGPT_COST_DEVICERATES_H

#include "cost/GemmTime.h"
#include <array>

namespace tgpt::cost {

/// What the operands of a linear layer are multiplied in.
enum class OperandType { Bits16, Fp8, Fp4, Bits32 };
inline constexpr std::array<const char *, 4> operandTypeNames = {"16-bit", "fp8", "fp4", "32-bit"};
inline constexpr std::array<double, 4> operandTypeBytes = {2, 1, 0.5, 4};

struct DeviceRates {
  double memoryBytesPerSecond = 0; ///< peak
  double memoryFraction = 0.85;    ///< of the peak that a large elementwise kernel moves at
  double kernelStartSeconds = 5e-6;
  double powerFraction = 1;                            ///< of the matrix rates that the part's power limit leaves
  std::array<GemmCurve, operandTypeNames.size()> gemm; ///< by OperandType
  double attentionForwardFlopsPerSecond = 0;           ///< fused attention, operations of the causal half counted
  double attentionBackwardFlopsPerSecond = 0;

  const GemmCurve &curve(OperandType type) const { return gemm[static_cast<std::size_t>(type)]; }
  double memorySeconds(double bytes) const { return bytes / (memoryBytesPerSecond * memoryFraction); }
};

struct DeviceProfile;

/// The rates of a cluster file's device, for 16-bit and 32-bit operands: its curves' values for large kernels. Once a
/// search; the profile's curves themselves are too slow, and too coarse, for one of its steps.
DeviceRates ratesOf(const DeviceProfile &device);

} // namespace tgpt::cost

#endif // TGPT_COST_DEVICERATES_H
