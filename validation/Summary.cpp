//===- Summary.cpp - errors by table, and the bounds they are held to ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "validation/Summary.h"
#include "validation/CsvTable.h"
#include <cstdio>
#include <map>

namespace tgpt::validation {
namespace {

double roundedUp(double share, double step) {
  return std::max(0.0, std::ceil(100 * share / step - 1e-9) * step);
}

std::string errorsText(const Errors &errors) {
  if (errors.rows == 0)
    return "    -      -      -";
  char text[64];
  std::snprintf(text, sizeof text, "%5d %5.1f%% %5.1f%%", errors.rows, 100 * errors.mean, 100 * errors.worst);
  return text;
}

void printRow(std::ostream &out, const std::string &name, const TableErrors &table) {
  char text[256];
  std::snprintf(text, sizeof text, "%-44s |%s |%s |%s", name.c_str(), errorsText(table.fit).c_str(),
                errorsText(table.heldOut).c_str(), errorsText(table.all).c_str());
  out << text << "\n";
}

void merge(Errors &total, const Errors &part) {
  if (part.rows == 0)
    return;
  total.mean = (total.mean * total.rows + part.mean * part.rows) / (total.rows + part.rows);
  total.rows += part.rows;
  total.worst = std::max(total.worst, part.worst);
}

} // namespace

std::vector<TableErrors> errorsByTable(const std::string &section, const std::vector<Observation> &observations) {
  std::vector<TableErrors> tables;
  std::map<std::string, std::size_t> places;
  for (const Observation &observation : observations) {
    auto [place, added] = places.emplace(observation.table, tables.size());
    if (added)
      tables.push_back({section, observation.table, {}, {}, {}});
    TableErrors &table = tables[place->second];
    (observation.heldOut ? table.heldOut : table.fit).add(observation);
    table.all.add(observation);
  }
  return tables;
}

void printErrors(std::ostream &out, const std::vector<TableErrors> &tables) {
  TableErrors total;
  std::string section;
  for (const TableErrors &table : tables) {
    if (table.section != section) {
      if (!section.empty())
        out << "\n";
      section = table.section;
      char title[256];
      std::snprintf(title, sizeof title, "%-44s |  fit   mean  worst | held   mean  worst |  all   mean  worst",
                    section.c_str());
      out << title << "\n";
    }
    printRow(out, table.table, table);
    if (section == "step time") {
      merge(total.fit, table.fit);
      merge(total.heldOut, table.heldOut);
      merge(total.all, table.all);
    }
  }
  out << "\n";
  printRow(out, "step time, all tables", total);
}

void printBounds(std::ostream &out, const std::vector<TableErrors> &tables) {
  out << "section,table,rows,mean_per_cent,worst_per_cent,held_out_rows,held_out_mean_per_cent,held_out_worst_per_"
         "cent\n";
  for (const TableErrors &table : tables)
    out << table.section << ",\"" << table.table << "\"," << table.all.rows << "," << roundedUp(table.all.mean, 0.1)
        << "," << roundedUp(table.all.worst, 1) << "," << table.heldOut.rows << ","
        << roundedUp(table.heldOut.mean, 0.1) << "," << roundedUp(table.heldOut.worst, 1) << "\n";
}

std::vector<std::string> exceeded(const std::string &boundsPath, const std::vector<TableErrors> &tables) {
  std::map<std::string, CsvRow> bounds;
  for (CsvRow &row : readCsv(boundsPath))
    bounds.emplace(row.text("table"), row);
  std::vector<std::string> complaints;
  for (const TableErrors &table : tables) {
    auto bound = bounds.extract(table.table);
    if (!bound) {
      complaints.push_back(boundsPath + ": no bound for '" + table.table + "'");
      continue;
    }
    const CsvRow &row = bound.mapped();
    auto check = [&](const std::string &column, double value, bool exact) {
      double limit = row.number(column);
      if (exact ? value != limit : value > limit + 1e-9)
        complaints.push_back(row.place + ": '" + table.table + "': " + column + " is " + std::to_string(value) +
                             ", expected " + (exact ? "" : "at most ") + row.text(column));
    };
    check("rows", table.all.rows, true);
    check("mean_per_cent", 100 * table.all.mean, false);
    check("worst_per_cent", 100 * table.all.worst, false);
    check("held_out_rows", table.heldOut.rows, true);
    check("held_out_mean_per_cent", 100 * table.heldOut.mean, false);
    check("held_out_worst_per_cent", 100 * table.heldOut.worst, false);
  }
  for (const auto &[table, row] : bounds)
    complaints.push_back(row.place + ": no rows of '" + table + "'");
  return complaints;
}

} // namespace tgpt::validation
