//===- LayerTimes.h - how long the parts of a micro-batch take ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels by the device, collectives by the links between ranks.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_LAYERTIMES_H
#define TGPT_PASSES_PIPELINE_LAYERTIMES_H

#include "passes/pipeline/LayerCosts.h"
#include "passes/pipeline/LayerPlaces.h"
#include "passes/pipeline/PartSeconds.h"
#include <vector>

namespace tgpt {

/// Of each part. `wholeStates`: what the parts hold, as if nothing was shared out.
std::vector<PartSeconds> secondsOfParts(mlir::ModuleOp module, const LayerPlaces &places,
                                        const CostAssumptions &assumptions, llvm::ArrayRef<StateBytes> wholeStates);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_LAYERTIMES_H
