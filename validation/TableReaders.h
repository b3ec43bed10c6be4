//===- TableReaders.h - how each published table is read ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables share their columns; what a table leaves to its text (the software, the
// cluster, what "selective" means there) is said by its reader.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_VALIDATION_TABLEREADERS_H
#define TGPT_VALIDATION_TABLEREADERS_H

#include "validation/CsvTable.h"
#include "validation/PublishedRun.h"

namespace tgpt::validation {

struct TableReader {
  const char *name; ///< printed
  const char *file;
  /// Completes a run whose common fields are set; sets leftOut where the row can't be computed.
  void (*read)(const CsvRow &row, PublishedRun &run);
};

const std::vector<TableReader> &tableReaders();
/// Shape, degrees, batch and time, from the columns that all tables share.
PublishedRun commonFields(const CsvRow &row, const TableReader &reader);

/// GPT-3 as Megatron-LM trains it up to 2023: dropout, scores in memory, learned positions, tied head.
void asMegatron(PublishedRun &run);
void readRecompute(const CsvRow &row, PublishedRun &run);

} // namespace tgpt::validation

#endif // TGPT_VALIDATION_TABLEREADERS_H
