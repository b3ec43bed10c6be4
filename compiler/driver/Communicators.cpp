//===- Communicators.cpp - the communicators that a configuration needs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Communicators.h"
#include <algorithm>

using namespace tgpt;

cost::CommunicatorCount tgpt::communicatorsOf(const CompileOptions &options) {
  bool tp = options.tp > 1, dp = options.dp > 1, pp = options.pp > 1;
  bool replicas = dp && options.zero > 0 && options.zeroGroup > 0 && options.dp > options.zeroGroup;
  int count = tp + dp + pp;
  // The gradients of what tp ranks hold alike, or the norm of pieces, are summed over both at once.
  count += dp && tp && (options.sequenceParallel || options.zero > 0);
  // Groups that hold the same; all of dp; norms over tp too.
  count += replicas ? 2 + tp : 0;
  // A weight tied between the first and the last of several stages.
  count += options.pp > 2;
  cost::CommunicatorCount communicators;
  communicators.communicators = count;
  // The stages before and after; with chunks the last one sends to the first.
  communicators.peers = options.pp > 2 ? 2 : pp;
  return communicators;
}
