//===- test/mutation/MutationTable.cpp - what became of the mutants -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/mutation/MutationTable.h"

#include <cstdio>
#include <exception>

using namespace tgpt;
using namespace tgpt::runtime;

void MutationTable::add(const std::string &mutation, Fate fate, const std::string &where) {
  ++rows[mutation][fate];
  if (fate == Fate::Escaped)
    escapes.push_back(mutation + ": " + where);
}

int64_t MutationTable::countOf(std::optional<Fate> fate) const {
  int64_t count = 0;
  for (const auto &[mutation, fates] : rows)
    for (const auto &[mutantFate, mutants] : fates)
      if (!fate || mutantFate == *fate)
        count += mutants;
  return count;
}

double MutationTable::shareCaught() const {
  int64_t escaped = countOf(Fate::Escaped), caught = countOf(Fate::Verifier) + countOf(Fate::Checker);
  return caught + escaped == 0 ? 1 : static_cast<double>(caught) / static_cast<double>(caught + escaped);
}

std::string MutationTable::text() const {
  constexpr int mostListed = 40;
  auto line = [](const char *name, const char *a, const char *b, const char *c, const char *d, const char *e) {
    char text[160];
    std::snprintf(text, sizeof text, "%-44s %8s %9s %8s %11s %8s\n", name, a, b, c, d, e);
    return std::string(text);
  };
  auto numbers = [&](const std::string &name, int64_t all, int64_t verifier, int64_t checker, int64_t equivalent,
                     int64_t escaped) {
    auto n = [](int64_t value) { return std::to_string(value); };
    return line(name.c_str(), n(all).c_str(), n(verifier).c_str(), n(checker).c_str(), n(equivalent).c_str(),
                n(escaped).c_str());
  };
  std::string text = line("mutation", "mutants", "verifier", "checker", "equivalent", "escaped");
  for (const auto &[mutation, fates] : rows) {
    auto of = [&, &fates = fates](Fate fate) { return fates.count(fate) ? fates.at(fate) : 0; };
    int64_t all = of(Fate::Verifier) + of(Fate::Checker) + of(Fate::Equivalent) + of(Fate::Escaped);
    text += numbers(mutation, all, of(Fate::Verifier), of(Fate::Checker), of(Fate::Equivalent), of(Fate::Escaped));
  }
  text += numbers("all", mutants(), countOf(Fate::Verifier), countOf(Fate::Checker), countOf(Fate::Equivalent),
                  countOf(Fate::Escaped));
  char share[64];
  std::snprintf(share, sizeof share, "caught: %.2f %%\n", 100 * shareCaught());
  text += share;
  for (size_t i = 0; i < escapes.size() && i < mostListed; ++i)
    text += "escaped: " + escapes[i] + "\n";
  if (escapes.size() > mostListed)
    text += "and " + std::to_string(escapes.size() - mostListed) + " more\n";
  return text;
}

MutantRun::MutantRun(const plan::Plan &original, const DeviceOptions &device) {
  settings.device = device;
  settings.watchdogSeconds = 2; // a mutant may wait for ever
  expected = train(original, settings);
}

Fate MutantRun::judge(const plan::Plan &mutant, std::string &why) const {
  constexpr double tolerance = 1e-10; // Comparison.h says why
  try {
    for (const Difference &difference : compare(train(mutant, settings), expected, settings.learningRate))
      if (!(difference.error <= tolerance)) {
        why = difference.text();
        return Fate::Escaped;
      }
  } catch (const std::exception &error) { // seen by the run, but only there
    why = error.what();
    return Fate::Escaped;
  }
  return Fate::Equivalent;
}
