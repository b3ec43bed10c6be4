//===- Pins.h - choices that are not up to the search ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `--tp=8` pins one choice, `--compare=tp=16,pp=1,recompute=full` several. One table of the
// choices serves flags, lists and their errors.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_SEARCH_PINS_H
#define TGPT_COMPILER_SEARCH_PINS_H

#include "compiler/search/Candidate.h"
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace tgpt::search {

struct Pins {
  std::optional<int64_t> tp, pp, vpp, dp, zero, zeroGroup, microBatchSamples, microBatches, bucketMib, prefetch;
  std::optional<bool> sp, overlap;
  std::optional<PipelineOrder> schedule;
  std::optional<cost::Recompute> recompute;
  std::optional<RankOrder> order;
};

/// What is wrong with a pin, for people.
struct PinError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One choice that can be pinned: its name as a flag of tgpt-opt, and what it may be.
struct PinField {
  const char *name;
  const char *meaning;
  const char *accepted;
  /// Sets it; false where the text is not accepted.
  bool (*set)(Pins &pins, std::string_view text);
  void (*release)(Pins &pins);
  bool (*isSet)(const Pins &pins);
};
const std::vector<PinField> &pinFields();

/// Pins one choice. Throws PinError.
void setPin(Pins &pins, const std::string &name, const std::string &text);
/// "tp=16,pp=1": a comma without a name behind it belongs to the value before ("rank-order=dp,pp,tp"). Throws PinError.
Pins parsePins(const std::string &text);
/// "tp=16, pp=1"; empty where nothing is pinned. `text` gives the value of a pin as it was given.
std::vector<const PinField *> pinned(const Pins &pins);

} // namespace tgpt::search

#endif // TGPT_COMPILER_SEARCH_PINS_H
