//===- test/unit/training/TinyModel.h - a training step small enough to write by hand ---------------------*- C++
//-*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A bigram model: logits = table[token] head^T, with AdamW and gradient clipping,
// on a (dp, tp) grid. Both weights are split along the model width, so over tp
// the logits are a partial sum and everything else is local.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_TRAINING_TINYMODEL_H
#define TGPT_TEST_UNIT_TRAINING_TINYMODEL_H

#include "runtime/plan/plan.pb.h"

namespace tgpt::test {

struct TinyModel {
  int64_t dp = 1, tp = 1, microBatches = 1, microBatchSamples = 2;
  int64_t vocabulary = 16, width = 8, sequence = 4;
  plan::DType dtype = plan::F64; // bf16 and f16 keep f32 master copies
  uint64_t seed = 1;

  plan::Plan plan() const;
};

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_TRAINING_TINYMODEL_H
