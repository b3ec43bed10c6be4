//===- Passes.td - the passes of the memory phase ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_MEMORY_PASSES_TD
#define TGPT_PASSES_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignMemory : Pass<"plan-assign-memory", "::mlir::ModuleOp"> {
  let summary = "give every buffer its offset and every stage its arena";
  let description = [{
    A scratch buffer is live from its first to its last instruction, an activation from
    its forward to its last use in the backward of the same micro-batch; variables and
    messages always. Buffers that are never live at once may share bytes. A buffer of
    one segment lies in the slot of the micro-batch where that has room at the time,
    else in the scratch region; its `in` then names the region. Regions
    follow each other in the arena in the order they are written.

    **Input**
    ```mlir
    plan.stage 0 {
      plan.region scratch slots 1
      %a = plan.buffer "a" in scratch : !plan.buffer<16xf32>
      ...
    ```
    **Output**
    ```mlir
    plan.stage 0 arena 128 {
      plan.region scratch slots 1 at 0 holds 128 live 128
      %a = plan.buffer "a" in scratch at 64 : !plan.buffer<16xf32>
      ...
    ```
    `live` is the greatest sum of what belongs to a region and is live at once, in
    activations of what is kept; offsets that were there are replaced.

    Fails when: `alignment` is not a power of two of at least 8; an arena passes 2^62 bytes,
    or `limit-bytes`.
  }];
  let dependentDialects = ["::tgpt::planir::PlanDialect"];
  let options = [
    Option<"alignment", "alignment", "int64_t", "64",
           "Bytes that offsets are multiples of; 64 is a cache line and an AVX-512 vector">,
    Option<"limitBytes", "limit-bytes", "int64_t", "0",
           "Bytes that an arena may take; by default 0, no limit">,
  ];
  let statistics = [
    Statistic<"buffersPlaced", "buffers-placed", "Buffers given an offset">,
    Statistic<"buffersInSlots", "buffers-in-slots", "Buffers of one segment that fit into the slot of the micro-batch">,
    Statistic<"regionsTight", "regions-tight", "Regions no larger than what is live at once, rounded up to the alignment">,
    Statistic<"regionsLoose", "regions-loose", "Regions larger than that">,
    Statistic<"bytesAboveLive", "bytes-above-live", "Bytes of all regions beyond what is live at once">,
  ];
}

#endif // TGPT_PASSES_MEMORY_PASSES_TD
