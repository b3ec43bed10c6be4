//===- test/mutation/MutationTable.h - what became of the mutants -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mutant is a program with one mistake put into it. It is caught when the compiler
// or the plan checker refuses it, equivalent when it is accepted and computes the same,
// and escaped otherwise.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_MUTATION_MUTATIONTABLE_H
#define TGPT_TEST_MUTATION_MUTATIONTABLE_H

#include "runtime/plan/plan.pb.h"
#include "test/e2e/Comparison.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tgpt {

enum class Fate { Verifier, Checker, Equivalent, Escaped };

class MutationTable {
public:
  /// `where` is kept for mutants that escaped.
  void add(const std::string &mutation, Fate fate, const std::string &where);
  /// Mutations by fate, then what escaped.
  std::string text() const;

  int64_t mutants() const { return countOf(std::nullopt); }
  int64_t countOf(std::optional<Fate> fate) const;
  /// Of the mutants that are not equivalent, 1 when all are caught.
  double shareCaught() const;

private:
  std::map<std::string, std::map<Fate, int64_t>> rows;
  std::vector<std::string> escapes;
};

/// Runs mutants that nobody refused.
class MutantRun {
public:
  /// Remembers what the unmutated plan computes, on the host or on devices.
  explicit MutantRun(const plan::Plan &original, const runtime::DeviceOptions &device = {});

  /// Equivalent or Escaped; `why` says how it differs.
  Fate judge(const plan::Plan &mutant, std::string &why) const;

private:
  runtime::TrainingSettings settings;
  std::vector<runtime::Snapshot> expected;
};

} // namespace tgpt

#endif // TGPT_TEST_MUTATION_MUTATIONTABLE_H
