//===- CpuBuilds.cpp - the cpu kernels are judged ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/Case.h"

using namespace tgpt;

std::span<const runtime::CpuKernelBuild> test::judgedBuilds() {
  return runtime::cpuKernelBuilds();
}

bool test::roundsShares(const runtime::CpuKernelBuild &) {
  return false;
}

bool test::isJudged(const Case &) {
  return true;
}
