//===- InstructionTime.cpp - seconds of one instruction of a plan ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/InstructionTime.h"
#include "cost/CollectiveTime.h"

using namespace tgpt::cost;

double tgpt::cost::instructionSeconds(const DeviceProfile &device, const Topology &topology,
                                      const InstructionFacts &facts) {
  switch (facts.kind) {
  case InstructionKind::Kernel: break;
  case InstructionKind::AllReduce: return allReduceSeconds(topology, facts.group, facts.tensorBytes);
  case InstructionKind::AllGather: return allGatherSeconds(topology, facts.group, facts.tensorBytes);
  case InstructionKind::ReduceScatter: return reduceScatterSeconds(topology, facts.group, facts.tensorBytes);
  case InstructionKind::AllToAll: return allToAllSeconds(topology, facts.group, facts.tensorBytes);
  case InstructionKind::Message: return sendSeconds(topology, facts.distance, facts.tensorBytes);
  }
  return kernelSeconds(device, facts.kernel);
}
