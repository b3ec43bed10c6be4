//===- TextTable.h - numbers as people read them ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_REPORT_TEXTTABLE_H
#define TGPT_COMPILER_REPORT_TEXTTABLE_H

#include "cost/BytesText.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tgpt {

/// "512 ns", "1.50 us", "12.1 ms", "3.45 s".
std::string secondsText(int64_t nanoseconds);

/// Columns as wide as their widest cell, all to the right; a line a row.
std::string alignedTable(const std::vector<std::vector<std::string>> &rows);

} // namespace tgpt

#endif // TGPT_COMPILER_REPORT_TEXTTABLE_H
