//===- ReduceBuckets.cpp - sum gradients a bucket at a time ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many collectives does it take to sum the gradients of a step? As many as there are
// buckets, be there a hundred parameters in each:
//
//   %a = all_reduce (read @a.gradient)         %0 = read @bucket...gradient
//   %b = all_reduce (read @b.gradient)   ->    %1 = all_reduce %0
//                                              %a, %b = unpack %1
//
// An element has the addends it had, in the order it had: no bit changes. The buckets'
// sums stand where the first of their members is needed; dist-overlap-collectives starts
// them ahead of it.
//
// Relies on: zero-form-buckets and the update of tgpt-add-optimizer, partitioned. Leaves
// true: every bucket of gradients is read once in the update and summed at once.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageLayers.h"
#include "passes/zero/BucketFamilies.h"
#include "passes/zero/Passes.h"

namespace tgpt {
#define GEN_PASS_DEF_REDUCEBUCKETS
#include "passes/zero/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

/// A member of a bucket while its sum is rewritten.
struct Member {
  ReadOp read;
  JoinNodesOp join;                    ///< null where a rank's sum is one node of the tree
  SmallVector<dist::AllReduceOp> sums; ///< each of what the one before gives
  Value whole;                         ///< what the last of them gives
};

class BucketReduction {
public:
  BucketReduction(func::FuncOp update, llvm::DenseMap<StringAttr, SmallVector<BucketOp>> nodes, int64_t addends)
      : uses(update), nodes(std::move(nodes)), addends(addends) {}

  LogicalResult reduce(BucketOp bucket);
  int64_t countReplaced() const { return replaced; }

private:
  FailureOr<Member> findMember(BucketOp bucket, StringAttr name);
  static void eraseReads(Member &member);
  SymbolUses uses;
  llvm::DenseMap<StringAttr, SmallVector<BucketOp>> nodes; ///< further ones of a rank's sum, by the bucket of the first
  int64_t addends;                                         ///< of a rank, where there are any
  int64_t replaced = 0;
};

} // namespace

FailureOr<Member> BucketReduction::findMember(BucketOp bucket, StringAttr name) {
  SmallVector<ReadOp> reads = uses.readsOf(name);
  if (reads.size() != 1)
    return bucket.emitError() << "member '@" << name.getValue() << "' is read " << reads.size()
                              << " times in the update, expected once";
  Member member{reads.front(), {}, {}, reads.front().getValue()};
  if (member.whole.hasOneUse() && (member.join = dyn_cast<JoinNodesOp>(*member.whole.user_begin())))
    member.whole = member.join.getOutput();
  while (member.whole.hasOneUse()) {
    auto sum = dyn_cast<dist::AllReduceOp>(*member.whole.user_begin());
    if (!sum)
      break;
    member.sums.push_back(sum);
    member.whole = sum.getOutput();
  }
  if (member.sums.empty())
    return member.read.emitError() << "'@" << name.getValue() << "' is not summed by an all_reduce";
  return member;
}

void BucketReduction::eraseReads(Member &member) {
  SmallVector<Operation *> reads = {member.read};
  if (member.join) {
    reads.assign(member.join->getOperands().size(), nullptr);
    for (auto [read, node] : llvm::zip_equal(reads, member.join.getNodes()))
      read = node.getDefiningOp();
    member.join.erase();
  }
  for (Operation *read : reads)
    read->erase();
}

/// Whether two sums run over the same ranks in the same order.
static bool areAlike(dist::AllReduceOp a, dist::AllReduceOp b) {
  return a->getAttrDictionary() == b->getAttrDictionary();
}

static RankedTensorType withoutPartial(RankedTensorType type, ArrayAttr axes) {
  dist::LayoutAttr::Axes rest = dist::layoutOf(type).partialAxes();
  for (StringRef axis : axes.getAsValueRange<StringAttr>())
    llvm::erase(rest, axis);
  return dist::withLayout(type, dist::layoutOf(type).withPartial(rest));
}

LogicalResult BucketReduction::reduce(BucketOp bucket) {
  SmallVector<Member> members;
  Operation *first = nullptr;
  for (auto name : bucket.getMembers().getAsRange<FlatSymbolRefAttr>()) {
    FailureOr<Member> member = findMember(bucket, name.getAttr());
    if (failed(member))
      return failure();
    const SmallVector<dist::AllReduceOp> &expected = members.empty() ? member->sums : members.front().sums;
    if (!llvm::equal(member->sums, expected, areAlike))
      return member->sums.front().emitError() << "'" << name << "' is summed otherwise than '@"
                                              << members.front().read.getSymbol() << "' of the same bucket";
    for (Operation *user : member->whole.getUsers())
      if (!first || user->isBeforeInBlock(first))
        first = user;
    members.push_back(*member);
  }
  OpBuilder builder(first ? first : members.back().sums.back());
  Value all = readPartialSum(builder, bucket, nodes.lookup(bucket.getSymNameAttr()), addends);
  for (dist::AllReduceOp sum : members.front().sums)
    all = dist::AllReduceOp::create(builder, bucket.getLoc(),
                                    withoutPartial(cast<RankedTensorType>(all.getType()), sum.getAxes()),
                                    sum.getReduction(), all, sum.getAxes(), sum.getStagesAttr(), sum.getTree());
  SmallVector<Type> types;
  for (const Member &member : members)
    types.push_back(member.whole.getType());
  auto parts = dist::UnpackOp::create(builder, bucket.getLoc(), types, all, bucket.getOffsets());
  for (auto [member, part] : llvm::zip_equal(members, parts.getOutputs())) {
    member.whole.replaceAllUsesWith(part);
    for (dist::AllReduceOp sum : llvm::reverse(member.sums))
      sum.erase();
    eraseReads(member);
    ++replaced;
  }
  return success();
}

namespace {

struct ReduceBucketsPass : tgpt::impl::ReduceBucketsBase<ReduceBucketsPass> {
  void runOnOperation() override {
    func::FuncOp update = findPhase(getOperation(), "update");
    if (!update) {
      getOperation().emitError("has no function of phase 'update'");
      return signalPassFailure();
    }
    llvm::DenseSet<StringAttr> gradients;
    for (auto state : getOperation().getOps<StateOp>())
      if (state.getRole() == StateRole::Gradient)
        gradients.insert(state.getSymNameAttr());
    llvm::DenseMap<StringAttr, SmallVector<BucketOp>> nodes = findBucketsOfNodes(getOperation());
    llvm::DenseSet<Operation *> read; // with the first node of their sum
    for (auto &[first, others] : nodes)
      read.insert(others.begin(), others.end());
    func::FuncOp microBatch = findPhase(getOperation(), "micro_batch");
    BucketReduction reduction(update, std::move(nodes), microBatch ? addendsOfRank(microBatch) : 1);
    for (auto bucket : getOperation().getOps<BucketOp>()) {
      if (read.contains(bucket))
        continue;
      if (!gradients.contains(cast<FlatSymbolRefAttr>(bucket.getMembers()[0]).getAttr()))
        continue;
      if (failed(reduction.reduce(bucket)))
        return signalPassFailure();
      ++numBuckets;
    }
    numReplaced += reduction.countReplaced();
  }
};

} // namespace
