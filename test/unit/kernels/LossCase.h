//===- LossCase.h - a call of the loss with logits of one value ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_KERNELS_LOSSCASE_H
#define TGPT_TEST_UNIT_KERNELS_LOSSCASE_H

#include "test/unit/kernels/Case.h"

namespace tgpt::test {

/// [tokens, v] logits of one value each, with these labels.
inline Case lossCase(double logit, std::vector<int32_t> labels, int64_t v) {
  Case kase{"cross_entropy", "cross_entropy", runtime::DType::F32, {}, {}, {}};
  int64_t tokens = int64_t(labels.size());
  Tensor logits(runtime::DType::F32, {tokens, v}), ids(runtime::DType::I32, {tokens});
  for (int64_t i = 0; i < logits.elements(); ++i)
    logits.set(i, logit);
  for (int64_t t = 0; t < tokens; ++t)
    ids.set(t, labels[t]);
  kase.inputs = {logits, ids};
  kase.outputs = {Tensor(runtime::DType::F32, {}), Tensor(runtime::DType::F32, {}),
                  Tensor(runtime::DType::F32, {tokens})};
  return kase;
}

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_KERNELS_LOSSCASE_H
