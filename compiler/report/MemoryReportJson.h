//===- MemoryReportJson.h - the memory report as an object ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_REPORT_MEMORYREPORTJSON_H
#define TGPT_COMPILER_REPORT_MEMORYREPORTJSON_H

#include "compiler/report/MemoryReport.h"
#include <nlohmann/json.hpp>

namespace tgpt {

/// All of the report; docs/memory.md names its keys.
nlohmann::ordered_json memoryReportObject(const MemoryReport &report);

} // namespace tgpt

#endif // TGPT_COMPILER_REPORT_MEMORYREPORTJSON_H
