//===- Summary.h - errors by table, and the bounds they are held to ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_VALIDATION_SUMMARY_H
#define TGPT_VALIDATION_SUMMARY_H

#include "validation/Observation.h"
#include <ostream>

namespace tgpt::validation {

/// Errors of one table, rows that a fit saw and rows that none did apart.
struct TableErrors {
  std::string section, table;
  Errors fit, heldOut, all;
};

/// By table, in the order of the observations.
std::vector<TableErrors> errorsByTable(const std::string &section, const std::vector<Observation> &observations);

void printErrors(std::ostream &out, const std::vector<TableErrors> &tables);

/// Bounds as they are written to a file: the errors rounded up, a tenth of a per cent for a mean, one for a worst.
void printBounds(std::ostream &out, const std::vector<TableErrors> &tables);
/// What exceeds the bounds of a file, a line each. Tables and numbers of rows must be those of the file.
std::vector<std::string> exceeded(const std::string &boundsPath, const std::vector<TableErrors> &tables);

} // namespace tgpt::validation

#endif // TGPT_VALIDATION_SUMMARY_H
