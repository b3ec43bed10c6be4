//===- SumCalls.h - ops that share out one sum ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Under --reduction=canonical an op may be written several times, once for each node of its
// rank's chunks (`tgpt.node`) or each part of its samples (`tgpt.part`).
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_TGPT_SUMCALLS_H
#define TGPT_DIALECTS_TGPT_SUMCALLS_H

#include "dialects/dist/Dist.h"

namespace tgpt {

/// Ops that together read and compute what one op without nodes and parts would: each of them costs a share, for which
/// its cost interface is divided. 1 for any other op, and where a result is no sum, so that each does all of it.
int64_t callsInsteadOfOne(mlir::Operation *op, dist::MeshOp mesh);

} // namespace tgpt

#endif // TGPT_DIALECTS_TGPT_SUMCALLS_H
