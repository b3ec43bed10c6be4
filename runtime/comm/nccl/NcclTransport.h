//===- NcclTransport.h - all communicators of a job by NCCL -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rank 0 makes the id of a communicator of all ranks, which they learn where they met, and
// every other communicator is split off that one: one split for all groups of a kind (those
// along "tp", say: the color is the group's first rank), one for each use of it (on the
// compute stream, and started beside it, since calls of one communicator wait for each
// other), one for each channel. All ranks split in the same order, take part or not. A
// group of one rank needs none.
//
// Each communicator is used once before the first step: NCCL makes connections at the first
// use, which waits for the peers on the host; in the middle of a step that could be a
// circle that the plan does not have.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_NCCL_NCCLTRANSPORT_H
#define TGPT_RUNTIME_COMM_NCCL_NCCLTRANSPORT_H

#include "runtime/comm/nccl/NcclGroup.h"

namespace tgpt::runtime {

/// Throws Error where a plan has what NCCL cannot do, with the instruction and what to do about it.
void checkNcclPlan(const plan::Plan &plan, const RankGrid &grid);

/// Collective over all ranks of the plan. The library outlives the transport; null: the plan is for one rank.
std::unique_ptr<DeviceTransport> makeNcclTransport(const DeviceTransportRequest &request, NcclApi *library);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_NCCL_NCCLTRANSPORT_H
