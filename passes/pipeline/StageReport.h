//===- StageReport.h - a cut and its costs, as an attribute ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What dist-choose-stages knew when it decided, for reports after the passes that use
// the decision up.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_STAGEREPORT_H
#define TGPT_PASSES_PIPELINE_STAGEREPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/pipeline/StageSummary.h"
#include <optional>

namespace tgpt {

/// On the module: the costs of the cut that it has.
inline constexpr llvm::StringLiteral stageReportAttributeName = "dist.stage_report";

void writeStageReport(mlir::ModuleOp module, const StageSummary &summary);
/// None where the module has no such attribute, or not the one that `writeStageReport` writes.
std::optional<StageSummary> readStageReport(mlir::ModuleOp module);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_STAGEREPORT_H
