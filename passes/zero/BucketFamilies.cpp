//===- BucketFamilies.cpp - the buckets that belong together ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/zero/BucketFamilies.h"
#include "cost/SumNodes.h"
#include "passes/pipeline/StageLayers.h"
#include "passes/zero/BucketGroups.h"

using namespace mlir;
using namespace tgpt;

std::string BucketFamily::name() {
  return parameters.getSymName().rsplit('.').first.str();
}

int64_t BucketFamily::lastDim() {
  return parameterType().getRank() - 1;
}

/// Sums of a rank by each of their further nodes.
static llvm::DenseMap<StringAttr, StringAttr> findSumsOfNodes(ModuleOp module) {
  llvm::DenseMap<StringAttr, StringAttr> sums;
  for (auto &[sum, nodes] : findNodes(module))
    for (StringAttr node : nodes)
      sums[node] = sum;
  return sums;
}

static StringAttr firstMember(BucketOp bucket) {
  return cast<FlatSymbolRefAttr>(bucket.getMembers()[0]).getAttr();
}

llvm::DenseMap<StringAttr, SmallVector<BucketOp>> tgpt::findBucketsOfNodes(ModuleOp module) {
  llvm::DenseMap<StringAttr, StringAttr> sumOf = findSumsOfNodes(module);
  llvm::DenseMap<StringAttr, SmallVector<BucketOp>> byFirst, byBucket;
  for (auto bucket : module.getOps<BucketOp>())
    if (StringAttr sum = sumOf.lookup(firstMember(bucket)))
      byFirst[sum].push_back(bucket);
  for (auto bucket : module.getOps<BucketOp>())
    if (auto found = byFirst.find(firstMember(bucket)); found != byFirst.end())
      byBucket[bucket.getSymNameAttr()] = found->second;
  return byBucket;
}

/// Buckets of parameters with those of their gradients.
static SmallVector<BucketFamily> findFamilies(ModuleOp module) {
  llvm::DenseMap<StringAttr, StringAttr> parameterOf; // of a gradient
  for (auto state : module.getOps<StateOp>())
    if (state.getRole() == StateRole::Gradient)
      parameterOf[state.getSymNameAttr()] = state.getParameterAttr().getAttr();
  SmallVector<BucketFamily> families;
  llvm::DenseMap<StringAttr, StringAttr> sumOf = findSumsOfNodes(module);
  llvm::DenseMap<StringAttr, SmallVector<BucketOp>> gradientsOf; // by the first parameter
  for (auto bucket : module.getOps<BucketOp>())
    if (StringAttr parameter = parameterOf.lookup(firstMember(bucket)); parameter && !sumOf.count(firstMember(bucket)))
      gradientsOf[parameter].push_back(bucket);
  for (auto bucket : module.getOps<BucketOp>()) {
    SmallVector<BucketOp> gradients = gradientsOf.lookup(firstMember(bucket));
    if (gradients.empty())
      continue;
    SmallVector<BucketOp> more(llvm::drop_begin(gradients));
    BucketFamily &family = families.emplace_back(BucketFamily{bucket, gradients.front(), more, {}});
    for (auto member : bucket.getMembers().getAsRange<FlatSymbolRefAttr>())
      family.members.push_back(member.getAttr());
  }
  return families;
}

int64_t tgpt::addendsOfRank(func::FuncOp microBatch) {
  for (auto accumulate : microBatch.getOps<AccumulateOp>())
    if (accumulate.getNodesOf())
      return withoutPowersOfTwo(*accumulate.getMicroBatches() * int64_t(accumulate.getParts()));
  return 1;
}

Value tgpt::readPartialSum(OpBuilder &builder, BucketOp gradients, ArrayRef<BucketOp> nodes, int64_t addends) {
  auto read = [&](BucketOp bucket) -> Value {
    return ReadOp::create(builder, gradients.getLoc(), cast<RankedTensorType>(bucket.getType()), bucket.getSymName());
  };
  SmallVector<Value> list = {read(gradients)};
  for (BucketOp node : nodes)
    list.push_back(read(node));
  if (list.size() == 1)
    return list.front();
  return JoinNodesOp::create(builder, gradients.getLoc(), list.front().getType(), list,
                             builder.getI64IntegerAttr(addends));
}

FailureOr<BucketedProgram> BucketedProgram::of(ModuleOp module) {
  BucketedProgram program;
  auto meshes = module.getOps<dist::MeshOp>();
  if (meshes.empty())
    return module.emitError("has no dist.mesh");
  program.mesh = *meshes.begin();
  program.begin = findPhase(module, "begin");
  program.microBatch = findPhase(module, "micro_batch");
  program.update = findPhase(module, "update");
  if (!program.begin || !program.microBatch || !program.update)
    return module.emitError("lacks a function of phase 'begin', 'micro_batch' or 'update'");
  program.families = findFamilies(module);
  program.addends = addendsOfRank(program.microBatch);
  program.nodes = findBucketsOfNodes(module);
  if (program.families.empty())
    return module.emitError("has no buckets of parameters and gradients, run zero-form-buckets first");
  return program;
}

RankedTensorType tgpt::pieceTypeOf(RankedTensorType flat, dist::MeshOp mesh) {
  dist::LayoutAttr layout = dist::layoutOf(flat);
  SmallVector<StringRef> partial;
  for (StringRef axis : layout.partialAxes())
    if (axis != pieceAxis)
      partial.push_back(axis);
  int64_t last = flat.getRank() - 1;
  SmallVector<int64_t> shape(flat.getShape());
  shape[last] = dist::flatElementsOf(flat) / mesh.sizeOf(pieceAxis);
  return RankedTensorType::get(shape, flat.getElementType(), layout.withPartial(partial).withDim(last, {pieceAxis}));
}

SymbolUses::SymbolUses(func::FuncOp function) {
  function.walk([&](Operation *op) {
    if (auto read = dyn_cast<ReadOp>(op))
      reads[read.getSymbolAttr().getAttr()].push_back(read);
    else if (auto write = dyn_cast<WriteOp>(op))
      writes[write.getSymbolAttr().getAttr()].push_back(write);
    else if (auto accumulate = dyn_cast<AccumulateOp>(op))
      accumulations[accumulate.getSymbolAttr().getAttr()].push_back(accumulate);
  });
}

void tgpt::eraseUnused(func::FuncOp function) {
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty() && op->getNumResults() > 0)
      op->erase();
}
