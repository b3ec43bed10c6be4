//===- runtime/training/ArenaReport.cpp - planned and used bytes of every rank --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/ArenaReport.h"

#include <iomanip>

using namespace tgpt::runtime;

int64_t tgpt::runtime::printArenaReport(const Job &job, std::ostream &out) {
  out << "arena bytes" << std::setw(36) << "planned" << std::setw(18) << "high water"
      << "\n";
  int64_t differing = 0;
  for (int64_t rank = 0; rank < job.ranks(); ++rank) {
    int64_t planned = job.plannedBytes(rank), used = job.highWaterBytes(rank);
    out << "  " << std::left << std::setw(31) << job.describeRank(rank) << std::right << std::setw(14) << planned
        << std::setw(18) << used << (planned == used ? "" : "  DIFFERS") << "\n";
    differing += planned != used;
  }
  return differing;
}
