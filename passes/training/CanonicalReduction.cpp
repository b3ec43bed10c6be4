//===- CanonicalReduction.cpp - make every sum one that no grid changes ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which sums of a step could another grid add in another order, and how must the
// program be written so that none does? Ranks, micro-batches and samples are parts of
// one tree of additions (runtime/kernels/api/SumTree.h) if what a rank adds up first
// lies together in it:
//
//   dw, sums over samples and positions        -> a sum a sample, then a sum over samples
//   dx = dq wq + dk wk + dv wv                 -> one sum over the features of all three
//   accumulate %dw, @w.gradient (of 4)         -> accumulate ... carry [@w.gradient.carry.0] at %i of 4
//   two uses of a tied weight, one accumulator -> an accumulator each, added in @update
//
// Where the samples of a rank are no power of two they are a list of nodes of that tree
// (SampleNodes.h).
//
// Relies on: @micro_batch and @update (tgpt-add-optimizer). Leaves true: the module's
// reduction is "canonical", each state is added to by one op, and an op with a sum over
// samples sums over nothing else that a grid may shard. dist-chunk-reductions cuts what
// is left.
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/training/Passes.h"
#include "passes/training/SampleNodes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/bit.h"
#include <numeric>

namespace tgpt {
#define GEN_PASS_DEF_CANONICALREDUCTION
#include "passes/training/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

struct CanonicalReductionPass : tgpt::impl::CanonicalReductionBase<CanonicalReductionPass> {
  using CanonicalReductionBase::CanonicalReductionBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    microBatch = module.lookupSymbol<func::FuncOp>("micro_batch");
    update = module.lookupSymbol<func::FuncOp>("update");
    begin = module.lookupSymbol<func::FuncOp>("begin");
    if (!microBatch || !update || !begin) {
      module.emitError() << "no functions '@begin', '@micro_batch' and '@update', run tgpt-add-optimizer first";
      return signalPassFailure();
    }
    if (failed(checkOptions()) || failed(checkTypes()))
      return signalPassFailure();
    module->setAttr(reductionAttributeName, StringAttr::get(&getContext(), "canonical"));
    sumBySample();
    joinSums();
    separateUses();
    if (range.isNode() ? failed(addCarries()) : failed(addNodes()))
      signalPassFailure();
  }

  //===--------------------------------------------------------------------===//
  // What cannot be served
  //===--------------------------------------------------------------------===//

  LogicalResult refuse(StringRef name, int64_t value, const Twine &expected, int64_t nearest) {
    return getOperation().emitError() << name << " is " << value << ", but canonical reduction needs " << expected
                                      << "; the nearest legal value is " << nearest;
  }

  LogicalResult checkOptions() {
    auto tokens = microBatch.getNumArguments() ? dyn_cast<RankedTensorType>(microBatch.getArgument(0).getType())
                                               : RankedTensorType();
    if (!tokens || tokens.getRank() < 1 || tokens.getDimSize(0) % dp != 0)
      return microBatch.emitOpError() << "takes no samples that dp = " << int64_t(dp) << " divides";
    range = {tokens.getDimSize(0) / dp, microBatches, dp};
    constexpr int64_t mostChunks = 4096, mostAddends = 65536;
    if (chunks < 1 || chunks > mostChunks)
      return refuse("reduction-chunks", chunks, "1 to 4096", std::clamp<int64_t>(chunks, 1, mostChunks));
    if (tp > 0 && chunks % tp != 0) {
      InFlightDiagnostic error = getOperation().emitError();
      error << "tp is " << int64_t(tp) << ", which does not divide the " << int64_t(chunks)
            << " reduction-chunks that each sum is cut into; the nearest legal tp is " << nearestDivisor(chunks, tp);
      if (int64_t both = std::lcm(int64_t(chunks), int64_t(tp)); both <= mostChunks)
        error << ", and --reduction-chunks=" << both << " (of the one rank as well) serves both";
      return error;
    }
    if (range.addendsOfRank() > mostAddends)
      return refuse("micro-batches", microBatches, "at most 65536 sums of a power of two samples a rank",
                    std::max<int64_t>(mostAddends / range.partsOfMicroBatch(), 1));
    return success();
  }

  static int64_t nearestDivisor(int64_t number, int64_t wanted) {
    int64_t nearest = 1;
    for (int64_t divisor = 2; divisor <= number; ++divisor)
      if (number % divisor == 0 && std::abs(divisor - wanted) < std::abs(nearest - wanted))
        nearest = divisor;
    return nearest;
  }

  LogicalResult checkTypes() {
    for (auto parameter : getOperation().getOps<ParameterOp>())
      if (Type type = cast<RankedTensorType>(parameter.getType()).getElementType(); type.getIntOrFloatBitWidth() < 32)
        return parameter.emitOpError() << "is " << type << ": a rank would round its partial sums to " << type
                                       << ", which one rank does not; canonical reduction serves f32 and f64";
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Sums within a micro-batch
  //===--------------------------------------------------------------------===//

  void sumBySample() {
    for (Operation &op : llvm::make_early_inc_range(microBatch.getBody().front()))
      if (auto sum = dyn_cast<ChunkedSumOpInterface>(op)) {
        OpBuilder builder(&op);
        if (op.getNumResults() > 1)
          builder.setInsertionPointAfter(&op);
        sum.sumBySample(builder);
      }
  }

  /// add(f(x), f(y)) -> f(x, y), where both sums have no other use.
  void joinSums() {
    for (Operation &op : llvm::make_early_inc_range(microBatch.getBody().front())) {
      auto add = dyn_cast<AddOp>(op);
      if (!add || add.getLhs().getType() != add.getRhs().getType())
        continue;
      Operation *lhs = add.getLhs().getDefiningOp(), *rhs = add.getRhs().getDefiningOp();
      auto sum = dyn_cast_or_null<ChunkedSumOpInterface>(lhs);
      if (!sum || !rhs || lhs == rhs || !add.getLhs().hasOneUse() || !add.getRhs().hasOneUse())
        continue;
      OpBuilder builder(add);
      Operation *joined = sum.joinSum(builder, rhs);
      if (!joined)
        continue;
      joined->setDiscardableAttrs(add->getDiscardableAttrDictionary());
      add.replaceAllUsesWith(joined->getResult(0));
      add.erase();
      lhs->erase();
      rhs->erase();
      ++numJoined;
    }
  }

  //===--------------------------------------------------------------------===//
  // Sums over micro-batches
  //===--------------------------------------------------------------------===//

  /// Every accumulate of a state but the first gets a state of its own, which @begin
  /// clears and @update adds.
  void separateUses() {
    SymbolTable symbols(getOperation());
    llvm::MapVector<StringAttr, SmallVector<AccumulateOp>> uses;
    for (auto accumulate : microBatch.getOps<AccumulateOp>())
      uses[accumulate.getSymbolAttr().getAttr()].push_back(accumulate);
    for (auto &[name, accumulates] : uses)
      for (auto [number, accumulate] : llvm::enumerate(ArrayRef<AccumulateOp>(accumulates).drop_front())) {
        auto state = symbols.lookup<StateOp>(name);
        StateOp own = declareStateLike(state, name.getValue() + ".use." + Twine(number + 1));
        AccumulateOp use = accumulate;
        use.setSymbolAttr(FlatSymbolRefAttr::get(own.getSymNameAttr()));
        clearState(begin, own);
        addTo(name, own);
        ++numSeparated;
      }
  }

  /// What @update reads of `name` becomes its sum with `state`.
  void addTo(StringAttr name, StateOp state) {
    for (auto read : llvm::make_early_inc_range(update.getOps<ReadOp>())) {
      if (read.getSymbolAttr().getAttr() != name)
        continue;
      Operation *last = read;
      for (Operation *user : read.getValue().getUsers()) // after the uses that were added before
        if (isa<AddOp>(user))
          last = user;
      OpBuilder builder(&getContext());
      builder.setInsertionPointAfter(last);
      Value sum = last->getResult(0);
      Value more = ReadOp::create(builder, state.getLoc(), state.getType(), state.getSymName());
      auto add = AddOp::create(builder, state.getLoc(), sum.getType(), sum, more);
      sum.replaceAllUsesExcept(add.getOutput(), add);
    }
  }

  LogicalResult addNodes() {
    SymbolTable symbols(getOperation());
    SampleNodes nodes(range, begin, microBatch, update);
    LogicalResult result = nodes.accumulateAll(symbols);
    numCarries += nodes.countCarries();
    return result;
  }

  LogicalResult addCarries() {
    int64_t carries = int64_t(llvm::bit_width(uint64_t(std::max<int64_t>(microBatches, 1) - 1))) - 1;
    if (carries < 1) // two addends have one order
      return success();
    auto type = RankedTensorType::get({}, IntegerType::get(&getContext(), 32));
    unsigned position = microBatch.getNumArguments();
    if (failed(microBatch.insertArgument(position, type, {}, microBatch.getLoc())))
      return failure();
    microBatch.setArgAttr(position, "tgpt.name", StringAttr::get(&getContext(), "micro_batch"));
    SymbolTable symbols(getOperation());
    for (auto accumulate : microBatch.getOps<AccumulateOp>()) {
      auto state = symbols.lookup<StateOp>(accumulate.getSymbolAttr().getAttr());
      SmallVector<Attribute> levels;
      for (int64_t i = 0; i < carries; ++i) {
        StateOp carry = declareStateLike(state, state.getSymName() + ".carry." + Twine(i));
        levels.push_back(FlatSymbolRefAttr::get(carry.getSymNameAttr()));
        ++numCarries;
      }
      Builder builder(&getContext());
      accumulate.getMicroBatchMutable().assign(microBatch.getArgument(position));
      accumulate.setCarriesAttr(builder.getArrayAttr(levels));
      accumulate.setMicroBatchesAttr(builder.getI64IntegerAttr(microBatches));
    }
    return success();
  }

  SampleRange range;
  func::FuncOp begin, microBatch, update;
};

} // namespace
