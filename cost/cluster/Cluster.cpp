//===- Cluster.cpp - the hardware of a run, and what tgpt makes of it ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/cluster/Cluster.h"

namespace tgpt::cost {

Software tgptSoftware() {
  Software software;
  // Norms, activations, rotary positions and residual sums are one kernel each, which reads its operands and writes its
  // results once (runtime/kernels/KERNELS.md): what cost/LayerTime.h counts.
  software.elementwiseTraffic = 1;
  // The loss is a kernel that reads a logit once, and its gradient one that reads it and writes there.
  software.lossForwardBytes = 2;
  software.lossBackwardBytes = 2 + 2;
  // Attention is one fused kernel, whose rate the device's own curve gives.
  software.attentionRate = 1;
  // Of a layer's four reductions over tp the two of backward run beside the gradients of weights; forward waits for its
  // two (dist-overlap-collectives).
  software.tensorOverlap = 0.5;
  // Gradients are summed over dp in the update, after the last backward (zero-reduce-buckets).
  software.reduceOverlap = 0;
  // Updated parameters are gathered before the step ends: the next one starts with whole parameters.
  software.gatherOverlap = 0;
  // ZeRO-3 gathers the parameters of a layer while the one before it runs (--prefetch=1).
  software.shardOverlap = 1;
  // A stage sends while it computes on; it waits for what it receives.
  software.pipelineOverlap = 0;
  // Both ends of a channel know the plan: no handshake with the host around a send.
  software.sendStartSeconds = 0;
  software.dataBandwidth = 1;
  // As of other programs on the same hardware (validation/constants.csv, software.overlap_slowdown).
  software.overlapSlowdown = 0.2395;
  // Gradients are accumulated in 32 bits, and summed as they lie (docs/memory.md).
  software.gradientBytes = 4;
  // ZeRO-2 keeps pieces of gradients alone, so each micro-batch's are scattered (zero-shard-gradients).
  software.reducesEachMicroBatch = true;
  // A layer's forward in the plan of a LLaMA: 2 norms, 7 products, 2 rotary, attention, swiglu, 2 residual sums.
  software.kernelsPerLayer = 15;
  // Data is read ahead by a thread of its own, and the metrics of a step are a few hundred bytes.
  software.stepSeconds = 0;
  // Only what backward reads is computed again (passes/recompute).
  software.recomputeStopsEarly = true;
  // There are no 8- or 4-bit operands.
  software.castTraffic = 0;
  return software;
}

Software withoutOverlap(Software software) {
  software.tensorOverlap = software.reduceOverlap = software.gatherOverlap = 0;
  software.shardOverlap = software.pipelineOverlap = 0;
  return software;
}

Machine Cluster::machine() const {
  Machine machine = {ratesOf(device), topology, software};
  if (coresPerNode > 0)
    for (GemmCurve &curve : machine.device.gemm) {
      curve.units = curve.tileM = curve.tileN = 1; // the roofline, as a plan's kernels are timed
      curve.kHalf = curve.waveSoftness = 0;
    }
  return machine;
}

Topology singleNode(const DeviceProfile &device) {
  constexpr double large = 1e9;
  Topology topology;
  topology.ranksPerNode = 0;
  topology.levelCount = 1;
  // Each byte is read from one rank's memory and written to another's.
  topology.levels[0].bytesPerSecond = device.memoryBytesPerSecond * device.memoryEfficiency.at(large) / 2;
  return topology;
}

} // namespace tgpt::cost
