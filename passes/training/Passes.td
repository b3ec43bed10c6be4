//===- Passes.td - the passes of the training phase ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_TRAINING_PASSES_TD
#define TGPT_PASSES_TRAINING_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // TGPT_PASSES_TRAINING_PASSES_TD
