//===- TextTable.cpp - numbers as people read them ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/report/TextTable.h"
#include <algorithm>
#include <cstdio>

/// A number of the largest unit that leaves it at least one.
static std::string scaledText(double value, double step, std::initializer_list<const char *> units) {
  auto unit = units.begin();
  for (; value >= step && unit + 1 < units.end(); ++unit)
    value /= step;
  char text[32];
  int digits = unit == units.begin() ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
  std::snprintf(text, sizeof text, "%.*f %s", digits, value, *unit);
  return text;
}

std::string tgpt::secondsText(int64_t nanoseconds) {
  return scaledText(double(nanoseconds), 1000, {"ns", "us", "ms", "s"});
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
