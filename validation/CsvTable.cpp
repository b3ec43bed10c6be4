//===- CsvTable.cpp - a table of text with a header line ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "validation/CsvTable.h"
#include <charconv>
#include <fstream>
#include <iterator>

namespace tgpt::validation {
namespace {

/// Takes one record's cells off the text from `at`; a quoted cell may hold line breaks.
std::vector<std::string> takeRecord(const std::string &text, std::size_t &at, int &line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (; at < text.size(); ++at) {
    char c = text[at];
    if (c == '\n')
      ++line;
    if (quoted) {
      if (c != '"')
        cells.back() += c;
      else if (at + 1 < text.size() && text[at + 1] == '"')
        cells.back() += text[++at];
      else
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      cells.emplace_back();
    } else if (c == '\n') {
      ++at;
      break;
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  if (quoted)
    throw TableError(":" + std::to_string(line) + ": a quote is not closed");
  return cells;
}

} // namespace

const std::string &CsvRow::text(const std::string &column) const {
  static const std::string none;
  auto found = cells.find(column);
  return found == cells.end() ? none : found->second;
}

double CsvRow::number(const std::string &column) const {
  const std::string &cell = text(column);
  double value = 0;
  auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || cell.empty())
    throw TableError(place + ": '" + column + "' is '" + cell + "', not a number");
  return value;
}

std::vector<CsvRow> readCsv(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw TableError(path + ": cannot be read");
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<CsvRow> rows;
  std::size_t at = 0;
  int line = 1;
  try {
    std::vector<std::string> header = takeRecord(text, at, line);
    while (at < text.size()) {
      std::string place = path + ":" + std::to_string(line);
      std::vector<std::string> cells = takeRecord(text, at, line);
      if (cells.size() != header.size())
        throw TableError(place.substr(path.size()) + ": " + std::to_string(cells.size()) +
                         " cells, but the header has " + std::to_string(header.size()));
      std::map<std::string, std::string> named;
      for (std::size_t i = 0; i < cells.size(); ++i)
        named[header[i]] = cells[i];
      rows.emplace_back(place, std::move(named));
    }
  } catch (const TableError &error) {
    throw TableError(path + error.what());
  }
  return rows;
}

} // namespace tgpt::validation
