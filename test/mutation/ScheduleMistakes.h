//===- ScheduleMistakes.h - mistakes in schedules and messages ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_MUTATION_SCHEDULEMISTAKES_H
#define TGPT_TEST_MUTATION_SCHEDULEMISTAKES_H

#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <functional>
#include <random>
#include <string>

namespace tgpt {

/// Draws mistakes; each says what it did, or nothing where the draw does not apply.
class ScheduleMistakes {
public:
  ScheduleMistakes(plan::Plan &plan, std::mt19937_64 &random) : plan(plan), random(random) {}

  std::string make();
  /// Only of who has which slot, page and leaf, and where these lie.
  std::string makeOfPlaces();

private:
  int draw(int64_t count) { return static_cast<int>(random() % count); }
  plan::StageProgram &stage() { return *plan.mutable_stages(draw(plan.stages_size())); }

  std::string swapEntries();
  std::string moveEntry();
  std::string dropEntry();
  std::string repeatEntry();
  std::string changeMicroBatch();
  /// A stage takes two micro-batches in each other's place, everywhere.
  std::string exchangeMicroBatches();
  static int64_t slotsOf(const plan::StageProgram &stage);
  std::string changeSlot();
  /// A micro-batch moves to another slot, forward and backward.
  std::string changeSlots();
  static int64_t pagesOf(const plan::StageProgram &stage, plan::Region::Kind kind);
  std::string changePage();
  std::string changeLeaf();
  /// A micro-batch takes another page, wherever it has one.
  std::string changePages();
  std::string changeLeaves();
  /// A region of any stage whose slots lie anywhere; null where there is none.
  plan::Region *drawPlaced();
  std::string changePlace();
  std::string swapPlaces();
  std::string changeSegment();
  std::string swapSchedules();

  struct Place {
    plan::Segment *segment;
    int index;
    plan::Instruction &operator*() const { return *segment->mutable_instructions(index); }
  };
  /// An instruction that `isOne`, of any stage; its segment is null where there is none.
  Place drawInstruction(const std::function<bool(const plan::Instruction &)> &isOne);
  static bool isMessage(const plan::Instruction &instruction);
  bool spansStages(const plan::Instruction &instruction) const;

  std::string dropMessage();
  std::string moveMessage();
  std::string moveToSegment();
  std::string changeChannel();
  /// To another channel that could be it, with the peer that it has.
  std::string redirectMessage();
  std::string swapMessages();
  std::string changeDepth();
  std::string turnChannel();
  std::string shareBuffer();
  std::string changeGroup();
  std::string moveAcrossStages();

  plan::Plan &plan;
  std::mt19937_64 &random;
};

} // namespace tgpt

#endif // TGPT_TEST_MUTATION_SCHEDULEMISTAKES_H
