//===- Coverage.h - what was judged of each kernel --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_KERNELS_COVERAGE_H
#define TGPT_TEST_UNIT_KERNELS_COVERAGE_H

#include "test/unit/kernels/Case.h"

namespace tgpt::test {

/// The largest |error| / bound of an output, 0 where both are 0.
double worstRatio(const Tensor &got, const Tensor &expected, const std::vector<double> &bounds);

/// worstRatio over all outputs of a case that came out as `got`, against the reference kernel and its error bounds.
double worstAgainstReference(const Case &kase, const std::vector<Tensor> &got);

/// A line of the table that is printed at the end of the program: `name` in the dtype of the case.
void cover(const std::string &name, const Case &kase, double worst);

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_KERNELS_COVERAGE_H
