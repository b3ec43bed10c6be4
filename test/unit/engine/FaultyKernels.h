//===- FaultyKernels.h - kernels of which one call goes wrong ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel set over another one in which a chosen call of a chosen rank fails, throws, or
// does not return. Ranks are known by the names of their threads. One such set is in use
// at a time: kernels are plain functions, so the fault is a global.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_ENGINE_FAULTYKERNELS_H
#define TGPT_TEST_UNIT_ENGINE_FAULTYKERNELS_H

#include "runtime/engine/KernelSet.h"

#include <cstdint>

namespace tgpt::test {

struct KernelFault {
  enum class Kind { None, ReturnsError, Throws, ThrowsInteger, Blocks, SleepsEveryCall };
  Kind kind = Kind::None;
  int64_t rank = 0;
  int64_t call = 0;   ///< which kernel call of the rank, from 0, counted from setFault()
  double seconds = 0; ///< of SleepsEveryCall: on every call of the rank, whatever `call`
};

/// The kernels of `base`, with the fault that is set.
runtime::KernelSet faultyKernels(const runtime::KernelSet &base);

/// Sets the fault and counts calls from 0.
void setFault(const KernelFault &fault);
/// Kernel calls of a rank since setFault().
int64_t callsOf(int64_t rank);
/// Seconds since the fault was come to.
double secondsSinceFault();
/// Lets every call that blocks return.
void releaseBlocked();

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_ENGINE_FAULTYKERNELS_H
