//===- VerifyPartitioned.cpp - check the end of the sharding phase ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What later phases may take for granted: a mesh, no dist.reshard, every tensor
// local with its claim, and every op in accord with its sharding rule.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tgpt {
#define GEN_PASS_DEF_VERIFYPARTITIONED
#include "passes/sharding/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;
using namespace tgpt::dist;

// The type, where it is a tensor, is a shard that says of what.
static LogicalResult verifyType(Type type, function_ref<InFlightDiagnostic()> emitError) {
  if (!isa<TensorType>(type))
    return success();
  LayoutAttr layout = layoutOf(type);
  if (!layout)
    return emitError() << "has type " << type << " without a layout";
  if (!layout.isLocal())
    return emitError() << "has global type " << type;
  return success();
}

static LogicalResult verifyOp(Operation *op) {
  if (isa<ReshardOp>(op))
    return op->emitOpError() << "may not remain after dist-partition";
  for (auto [index, type] : llvm::enumerate(op->getResultTypes()))
    if (failed(verifyType(type, [&] { return op->emitOpError() << "result " << index << " "; })))
      return failure();
  for (NamedAttribute attribute : op->getAttrs())
    if (auto type = dyn_cast<TypeAttr>(attribute.getValue()))
      if (failed(verifyType(type.getValue(), [&] { return op->emitOpError() << attribute.getName() << " "; })))
        return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        if (failed(verifyType(argument.getType(),
                              [&] { return op->emitOpError() << "argument " << argument.getArgNumber() << " "; })))
          return failure();
  return isa<ShardingRuleOpInterface>(op) ? verifyLayouts(op) : success();
}

namespace {
struct VerifyPartitioned : tgpt::impl::VerifyPartitionedBase<VerifyPartitioned> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    markAllAnalysesPreserved();
    if (module.getOps<MeshOp>().empty()) {
      module.emitError() << "has no dist.mesh";
      return signalPassFailure();
    }
    if (module.walk([](Operation *op) { return WalkResult(verifyOp(op)); }).wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
