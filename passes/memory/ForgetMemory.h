//===- ForgetMemory.h - what an earlier assignment has decided ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_MEMORY_FORGETMEMORY_H
#define TGPT_PASSES_MEMORY_FORGETMEMORY_H

#include "dialects/plan/Plan.h"

namespace tgpt {

/// What has been put into pages, leaves, places and over other regions goes back to where it came from.
void forgetMemory(planir::StageOp stage);

/// The same run in another slot, page and leaf.
planir::RunAttr withPlaces(planir::RunAttr run, int64_t slot, int64_t page, int64_t leaf);

} // namespace tgpt

#endif // TGPT_PASSES_MEMORY_FORGETMEMORY_H
