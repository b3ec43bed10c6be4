//===- CsvTable.h - a table of text with a header line ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_VALIDATION_CSVTABLE_H
#define TGPT_VALIDATION_CSVTABLE_H

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace tgpt::validation {

/// What is wrong with a file: one line, with the file and where in it.
struct TableError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One row, by column name.
class CsvRow {
public:
  CsvRow(std::string place, std::map<std::string, std::string> cells)
      : place(std::move(place)), cells(std::move(cells)) {}

  /// The cell's text; empty where the table has no such column.
  const std::string &text(const std::string &column) const;
  bool has(const std::string &column) const { return !text(column).empty(); }
  /// The cell as a number. Throws where it is none.
  double number(const std::string &column) const;
  double number(const std::string &column, double otherwise) const { return has(column) ? number(column) : otherwise; }
  bool contains(const std::string &column, const std::string &part) const {
    return text(column).find(part) != std::string::npos;
  }

  std::string place; ///< "file:line"

private:
  std::map<std::string, std::string> cells;
};

/// Reads comma-separated values with quotes (RFC 4180). Every row has as many cells as the header.
std::vector<CsvRow> readCsv(const std::string &path);

} // namespace tgpt::validation

#endif // TGPT_VALIDATION_CSVTABLE_H
