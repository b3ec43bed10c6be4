//===- SegmentOrder.h - what runs after what in a micro-batch ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_DIST_SEGMENTORDER_H
#define TGPT_DIALECTS_DIST_SEGMENTORDER_H

#include "llvm/Support/ErrorHandling.h"

namespace tgpt {

/// Of a stage and chunk: smaller runs earlier. `SegmentKind` is that of the dist or of the plan dialect.
template <typename SegmentKind> int placeInMicroBatch(SegmentKind kind) {
  switch (kind) {
  case SegmentKind::Begin: return 0;
  case SegmentKind::Forward: return 1;
  case SegmentKind::Backward: return 2;
  case SegmentKind::WeightGradient: return 3;
  case SegmentKind::Update: return 4;
  }
  llvm_unreachable("a kind of the enum");
}

} // namespace tgpt

#endif // TGPT_DIALECTS_DIST_SEGMENTORDER_H
