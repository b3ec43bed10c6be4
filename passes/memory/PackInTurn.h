//===- PackInTurn.h - offsets for buffers in the order of time ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of thousands of buffers few are live at once: slots of as many micro-batches as a step has. Placing
// each when its time comes, beside those that are live then, takes a time that grows with the
// number of buffers alone (packBuffers also looks at all that come later). A few rules are tried.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_MEMORY_PACKINTURN_H
#define TGPT_PASSES_MEMORY_PACKINTURN_H

#include "passes/memory/PackBuffers.h"

namespace tgpt {

/// Places all buffers. `alignment` is a power of two. An end up to `goalBytes` is as good as any. Deterministic.
Packing packInTurn(const std::vector<Lifetime> &buffers, int64_t alignment, int64_t goalBytes);

} // namespace tgpt

#endif // TGPT_PASSES_MEMORY_PACKINTURN_H
