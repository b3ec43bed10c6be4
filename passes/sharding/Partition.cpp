//===- Partition.cpp - from global tensors to one rank's shards ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What does one rank hold and compute? Every type that has a layout becomes that of
// a shard, and keeps the global shape in its layout as a claim:
//
//   tensor<4x8xf32, #dist.layout<[tp, -]>>
//   tensor<2x8xf32, #dist.layout<[tp, -], of = [4, 8]>>        (tp = 2)
//
// Ops stay as they are: their attributes do not depend on the sharding. A
// dist.reshard becomes the collectives that move the fewest bytes (ReshardPlan).
// Axes of size 1 leave the layouts: they neither shard nor reduce. Where the module's
// reduction is canonical, sums over ranks are added in a tree.
//
// Relies on layouts that satisfy the ops' sharding rules (dist-propagate); leaves no
// dist.reshard, and types that satisfy the same rules (dist-verify-partitioned).
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/PassStatistic.h"
#include "passes/sharding/ReshardPlan.h"
#include "llvm/ADT/StringExtras.h"

#define DEBUG_TYPE "dist-partition"

namespace tgpt {
#define GEN_PASS_DEF_PARTITION
#include "passes/sharding/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;
using namespace tgpt::dist;

using Axes = LayoutAttr::Axes;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

// Without the axes of size 1.
static LayoutAttr dropUnitAxes(LayoutAttr layout, MeshOp mesh) {
  auto isReal = [&](StringRef axis) { return mesh.sizeOf(axis) > 1; };
  auto real = [&](const Axes &axes) { return llvm::to_vector<2>(llvm::make_filter_range(axes, isReal)); };
  SmallVector<Axes> dims;
  for (int64_t dim = 0; dim < layout.getRank(); ++dim)
    dims.push_back(real(layout.axesOf(dim)));
  return LayoutAttr::get(layout.getContext(), dims, real(layout.partialAxes()), layout.getReduction());
}

// The shard of `global`, which is known to divide.
static RankedTensorType shardType(RankedTensorType global, MeshOp mesh) {
  LayoutAttr layout = dropUnitAxes(layoutOf(global), mesh);
  auto claim = DenseI64ArrayAttr::get(global.getContext(), global.getShape());
  SmallVector<int64_t> shape(global.getShape());
  for (int64_t dim = 0; dim < layout.getRank(); ++dim)
    shape[dim] /= mesh.sizeOf(layout.axesOf(dim));
  return RankedTensorType::get(shape, global.getElementType(), layout.withGlobal(claim));
}

static LogicalResult checkAxes(LayoutAttr layout, MeshOp mesh, function_ref<InFlightDiagnostic()> emitError) {
  Axes axes = layout.partialAxes();
  for (int64_t dim = 0; dim < layout.getRank(); ++dim)
    axes.append(layout.axesOf(dim));
  for (StringRef axis : axes) {
    if (mesh.hasAxis(axis) && axis != "pp")
      continue;
    InFlightDiagnostic error =
        emitError() << "has axis \"" << axis << "\" in its layout, which "
                    << (axis == "pp" ? "holds the stages and shards no tensor" : "is not an axis of the mesh");
    error.attachNote(mesh.getLoc()) << "mesh declared here";
    return error;
  }
  return success();
}

namespace {

/// Checks that every type of the module has a shard; names the first that has not.
class ShardCheck {
public:
  explicit ShardCheck(MeshOp mesh) : mesh(mesh) {}

  LogicalResult check(Operation *op) {
    for (auto [index, type] : llvm::enumerate(op->getResultTypes()))
      if (failed(check(type, [&] { return op->emitOpError() << "result " << index << " "; })))
        return failure();
    for (NamedAttribute attribute : op->getAttrs())
      if (auto type = dyn_cast<TypeAttr>(attribute.getValue()))
        if (failed(check(type.getValue(), [&] { return declarationError(op); })))
          return failure();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (failed(check(argument.getType(),
                           [&] { return declarationError(op) << "argument " << argument.getArgNumber() << " "; })))
            return failure();
    return success();
  }

private:
  // Begins an error with the op and the symbol it declares.
  static InFlightDiagnostic declarationError(Operation *op) {
    InFlightDiagnostic error = op->emitOpError();
    if (auto name = op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
      error << "@" << name.getValue() << " ";
    return error;
  }

  LogicalResult check(Type type, function_ref<InFlightDiagnostic()> emitError) {
    LayoutAttr layout = layoutOf(type);
    if (!layout || layout.isLocal() || !checked.insert(type).second)
      return success();
    auto tensor = cast<RankedTensorType>(type);
    if (!tensor.hasStaticShape())
      return emitError() << "has a layout but a dynamic shape (tgpt-specialize-batch fixes it)";
    if (failed(checkAxes(layout, mesh, emitError)))
      return failure();
    return localShape(tensor.getShape(), layout, mesh, emitError);
  }

  MeshOp mesh;
  DenseSet<Type> checked;
};

} // namespace

static bool hasLayouts(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    bool found = llvm::any_of(op->getResultTypes(), [](Type type) { return layoutOf(type) != nullptr; });
    for (NamedAttribute attribute : op->getAttrs())
      if (auto type = dyn_cast<TypeAttr>(attribute.getValue()))
        found = found || layoutOf(type.getValue());
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

static void convertTypes(ModuleOp module, MeshOp mesh) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
    LayoutAttr layout = layoutOf(type);
    if (!layout || layout.isLocal())
      return std::nullopt;
    return std::pair<Type, WalkResult>(shardType(type, mesh), WalkResult::skip());
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static RankedTensorType typeAfter(RankedTensorType before, LayoutAttr layout, MeshOp mesh) {
  SmallVector<int64_t> shape(layout.getGlobal().asArrayRef());
  for (int64_t dim = 0; dim < layout.getRank(); ++dim)
    shape[dim] /= mesh.sizeOf(layout.axesOf(dim));
  return RankedTensorType::get(shape, before.getElementType(), layout);
}

// As the mesh lists them: so the ranks of a group come in the order of the parts of a sum.
static Axes inMeshOrder(const Axes &axes, MeshOp mesh) {
  Axes ordered;
  for (StringRef axis : mesh.getAxes().getAsValueRange<StringAttr>())
    if (llvm::is_contained(axes, axis))
      ordered.push_back(axis);
  return ordered;
}

static Operation *buildStep(OpBuilder &builder, Location loc, Value input, const ReshardStep &step, MeshOp mesh,
                            bool isCanonical) {
  auto before = cast<RankedTensorType>(input.getType());
  RankedTensorType type = typeAfter(before, step.result, mesh);
  bool isReduction = step.kind == ReshardStep::Kind::AllReduce;
  ArrayAttr axes = builder.getStrArrayAttr(isCanonical && isReduction ? inMeshOrder(step.axes, mesh) : step.axes);
  switch (step.kind) {
  case ReshardStep::Kind::AllReduce:
    return AllReduceOp::create(builder, loc, type, layoutOf(before).getReduction(), input, axes, DenseI64ArrayAttr(),
                               isCanonical && layoutOf(before).getReduction() == ReductionKind::Sum);
  case ReshardStep::Kind::ReduceScatter:
    return ReduceScatterOp::create(builder, loc, type, input, step.dim, axes, isCanonical);
  case ReshardStep::Kind::AllGather: return AllGatherOp::create(builder, loc, type, input, step.dim, axes);
  case ReshardStep::Kind::AllToAll: return AllToAllOp::create(builder, loc, type, input, step.dim, step.concat, axes);
  case ReshardStep::Kind::Slice: return SliceOp::create(builder, loc, type, input, step.dim, axes);
  }
  llvm_unreachable("every kind is above");
}

namespace {

struct Partition : tgpt::impl::PartitionBase<Partition> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto meshes = module.getOps<MeshOp>();
    if (meshes.empty()) {
      if (!hasLayouts(module))
        return markAllAnalysesPreserved();
      module.emitError() << "has layouts but no dist.mesh that gives the sizes of their axes";
      return signalPassFailure();
    }
    mesh = *meshes.begin();
    isCanonical = addsCanonically(module);
    ShardCheck check(mesh);
    if (module.walk<WalkOrder::PreOrder>([&](Operation *op) { return WalkResult(check.check(op)); }).wasInterrupted())
      return signalPassFailure();
    convertTypes(module, mesh);
    SmallVector<ReshardOp> reshards;
    module.walk([&](ReshardOp reshard) { reshards.push_back(reshard); });
    for (ReshardOp reshard : reshards)
      if (failed(lower(reshard)))
        return signalPassFailure();
  }

  // Replaces a reshard of local types by collectives that carry its attributes.
  LogicalResult lower(ReshardOp reshard) {
    LayoutAttr source = layoutOf(reshard.getInput()), target = layoutOf(reshard.getOutput());
    auto [entry, isNew] = plans.try_emplace({source, target}, SmallVector<ReshardStep>());
    if (isNew) {
      FailureOr<SmallVector<ReshardStep>> plan = planReshard(source, target, mesh);
      if (failed(plan))
        return reshard.emitOpError() << "no collectives lead from " << source << " to " << target;
      entry->second = std::move(*plan);
    }
    OpBuilder builder(reshard);
    Value value = reshard.getInput();
    for (const ReshardStep &step : entry->second) {
      Operation *op = buildStep(builder, reshard.getLoc(), value, step, mesh, isCanonical);
      op->setDiscardableAttrs(reshard->getDiscardableAttrDictionary());
      count(step.kind);
      value = op->getResult(0);
    }
    if (entry->second.empty())
      ++numFree;
    reshard.getOutput().replaceAllUsesWith(value);
    reshard.erase();
    return success();
  }

  void count(ReshardStep::Kind kind) {
    std::array<PassStatistic *, 5> counters = {&numAllReduces, &numReduceScatters, &numAllGathers, &numAllToAlls,
                                               &numSlices};
    ++*counters[static_cast<size_t>(kind)];
  }

  MeshOp mesh;
  bool isCanonical = false; ///< sums over ranks are trees
  DenseMap<std::pair<LayoutAttr, LayoutAttr>, SmallVector<ReshardStep>> plans;
};

} // namespace
