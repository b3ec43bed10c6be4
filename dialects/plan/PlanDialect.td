//===- PlanDialect.td - when it runs, in which bytes ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_PLAN_PLANDIALECT_TD
#define TGPT_DIALECTS_PLAN_PLANDIALECT_TD

include "mlir/IR/OpBase.td"

def PlanDialect : Dialect {
  let name = "plan";
  let summary = "when it runs, in which bytes: buffers, instructions, schedule";
  let description = [{
    The compiled program, one to one with `runtime/plan/plan.proto`. A
    `plan.program` holds the groups and channels that ranks share and one
    `plan.stage` per pipeline stage: its buffers, variables, segments of
    instructions, and the order in which a step runs the segments.

    Buffers are SSA values that name bytes, not tensors: instructions read and
    write them in program order. `plan-lower` creates the ops, `plan-assign-memory`
    gives buffers and regions their offsets, and the plan writer encodes them.
  }];
  let cppNamespace = "::tgpt::planir";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::tgpt::dist::DistDialect"];
}

#endif // TGPT_DIALECTS_PLAN_PLANDIALECT_TD
