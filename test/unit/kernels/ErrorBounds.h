//===- ErrorBounds.h - how far a kernel may be from its formula -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_KERNELS_ERRORBOUNDS_H
#define TGPT_TEST_UNIT_KERNELS_ERRORBOUNDS_H

#include "test/unit/kernels/Case.h"

namespace tgpt::test {

/// For each output and element: the largest |kernel - reference| that rounding
/// explains. 0 where the two must agree to the bit.
/// `roundsShares`: where query heads share a KV head, the kernel rounds what each adds to its gradient, as cuDNN does.
std::vector<std::vector<double>> errorBounds(const Case &kase, const std::vector<Tensor> &expected,
                                             bool roundsShares = false);

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_KERNELS_ERRORBOUNDS_H
