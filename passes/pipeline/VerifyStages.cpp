//===- VerifyStages.cpp - prove that the stages are the whole model, each layer once ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Is every op of the source in exactly one segment, and every layer on the stage that
// dist.stages gives it to? dist-split-stages proves it of its own result; this pass of IR
// that has been read and edited since.
//
// Relies on: dist-split-stages with keep-source. Changes nothing.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/Passes.h"
#include "passes/pipeline/SourceOps.h"
#include "passes/pipeline/StageLayers.h"

namespace tgpt {
#define GEN_PASS_DEF_VERIFYSTAGES
#include "passes/pipeline/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {
struct VerifyStages : tgpt::impl::VerifyStagesBase<VerifyStages> {
  using VerifyStagesBase::VerifyStagesBase;

  void runOnOperation() override {
    func::FuncOp microBatch = findPhase(getOperation(), "micro_batch");
    if (!microBatch || microBatch.isDeclaration()) {
      getOperation().emitError("module has no function with tgpt.phase \"micro_batch\"");
      return signalPassFailure();
    }
    if (failed(verifySourceOps(getOperation(), microBatch)))
      return signalPassFailure();
    opsProved += microBatch->getAttrOfType<DenseI64ArrayAttr>(sourceOpsAttributeName)[1];
  }
};
} // namespace
