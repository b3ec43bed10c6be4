//===- ScheduleReport.h - which pipeline stage does what when ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of the dist.schedules in a module, whoever wrote them: dist-schedule, or a person who
// edited them.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_REPORT_SCHEDULEREPORT_H
#define TGPT_COMPILER_REPORT_SCHEDULEREPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/pipeline/schedule/Gantt.h"

namespace tgpt {

/// A chart over time, slots and idle time of each stage, and its entries. `kind` is the
/// schedule's name.
std::string scheduleReportText(mlir::ModuleOp module, const std::string &kind, const GanttStyle &style);
/// One JSON object, ending in a newline.
std::string scheduleReportJson(mlir::ModuleOp module, const std::string &kind);

} // namespace tgpt

#endif // TGPT_COMPILER_REPORT_SCHEDULEREPORT_H
