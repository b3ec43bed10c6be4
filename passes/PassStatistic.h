//===- PassStatistic.h - what a pass counted ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for mlir::Pass::Statistic in the generated pass classes: a released
// LLVM has its statistics compiled out, so theirs count nothing and print nothing
// (and their memory is never set). Counts of the same pass add up over the process.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PASSSTATISTIC_H
#define TGPT_PASSES_PASSSTATISTIC_H

#include "mlir/Pass/Pass.h"
#include <atomic>

namespace tgpt {

/// A named count of one pass.
class PassStatistic {
public:
  PassStatistic(mlir::Pass *pass, const char *name, const char *description);

  PassStatistic &operator++() { return *this += 1; }
  PassStatistic &operator+=(uint64_t increment) {
    count->fetch_add(increment, std::memory_order_relaxed);
    return *this;
  }

private:
  std::atomic<uint64_t> *count;
};

/// Prints the counts of all passes that counted something, in the order in which
/// their pipeline ran them.
void printPassStatistics(llvm::raw_ostream &stream);

} // namespace tgpt

#endif // TGPT_PASSES_PASSSTATISTIC_H
