//===- PageTurns.h - whose pages and leaves are when ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A page, which the chunks share, belongs to a chunk and micro-batch from the first to the
// last of its entries that name it for what they keep there for each other (PageHoldings.h); an
// entry that finds nothing and leaves nothing there has it alone. An entry whose instructions
// use pages names one. Leaves likewise.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_PLAN_PAGETURNS_H
#define TGPT_RUNTIME_PLAN_PAGETURNS_H

#include "runtime/plan/PlanProblems.h"

#include <compare>
#include <map>
#include <set>

namespace tgpt::runtime {

/// "stage 0, schedule entry 3 (segment 'forward', micro-batch 1, slot 1)"; its segment must exist.
std::string scheduleEntryText(const plan::StageProgram &stage, int entry);

/// A region of which micro-batches take pages in turn, and the page that an entry names, 0 for none.
struct PageKind {
  plan::Region::Kind region;
  const char *name, *plural;
  int64_t (plan::ScheduleEntry::*page)() const;

  int64_t of(const plan::ScheduleEntry &entry) const { return (entry.*page)(); }
};

inline constexpr PageKind pageKinds[] = {{plan::Region::PAGES, "page", "pages", &plan::ScheduleEntry::page},
                                         {plan::Region::LEAVES, "leaf", "leaves", &plan::ScheduleEntry::leaf}};

/// The checks of a stage's pages of one kind. Operands need not be checked yet.
class PageTurns {
public:
  PageTurns(const plan::StageProgram &stage, const PageKind &kind, PlanProblems &problems);

  /// The page that an entry names is there, and there is one where its instructions use pages.
  void checkEntry(int entry) const;

  /// Each page has one holder at a time, and a holder one page. Needs entries whose segments exist.
  void checkHolders() const;

private:
  /// Who has a page: a chunk and micro-batch, in the segments of a holding.
  struct Holder {
    int64_t chunk, microBatch;
    int holding;
    auto operator<=>(const Holder &) const = default;
  };
  /// The page of a holder, and the last entry that names it.
  struct Held {
    int64_t page;
    int until;
  };

  Holder holderAt(int entry) const;
  std::map<Holder, Held> heldPages() const;
  bool doesUse(const plan::Segment &segment) const;

  const plan::StageProgram &stage;
  const PageKind &kind;
  PlanProblems &problems;
  std::map<int64_t, int64_t> pagesOfChunk;
  std::set<int64_t> chunksWithPlaces; ///< their pages lie anywhere (CheckPlaces.cpp)
  std::vector<bool> usesPages;        ///< by segment
  std::vector<int> holdings;          ///< likewise
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_PLAN_PAGETURNS_H
