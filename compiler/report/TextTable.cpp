//===- TextTable.cpp - numbers as people read them ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/report/TextTable.h"
#include <algorithm>
#include <array>
#include <cstdio>

std::string tgpt::bytesText(int64_t bytes) {
  static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  int digits = unit == 0 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
  std::snprintf(text, sizeof text, "%.*f %s", digits, value, units[unit]);
  return text;
}

std::string tgpt::alignedTable(const std::vector<std::vector<std::string>> &rows) {
  std::vector<size_t> widths;
  for (const std::vector<std::string> &row : rows)
    for (size_t column = 0; column < row.size(); ++column) {
      widths.resize(std::max(widths.size(), column + 1));
      widths[column] = std::max(widths[column], row[column].size());
    }
  std::string text;
  for (const std::vector<std::string> &row : rows) {
    for (size_t column = 0; column < row.size(); ++column)
      text += std::string(widths[column] + 2 - row[column].size(), ' ') + row[column];
    text += "\n";
  }
  return text;
}
