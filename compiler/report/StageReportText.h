//===- StageReportText.h - where a model was cut, for people and programs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From what dist-choose-stages knew, and the arenas of the plan where there is one.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_REPORT_STAGEREPORTTEXT_H
#define TGPT_COMPILER_REPORT_STAGEREPORTTEXT_H

#include "passes/pipeline/StageSummary.h"
#include <string>

namespace tgpt {

/// A table for people, ending in a newline. `arenaBytes` of each stage as planned; empty where
/// there is no plan.
std::string stageReportText(const std::string &model, StageSummary summary, const std::vector<int64_t> &arenaBytes);
/// One JSON object, times in nanoseconds and sizes in bytes, ending in a newline.
std::string stageReportJson(const std::string &model, StageSummary summary, const std::vector<int64_t> &arenaBytes);

} // namespace tgpt

#endif // TGPT_COMPILER_REPORT_STAGEREPORTTEXT_H
