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
// (cost/SumNodes.h), which the accumulator and its carries hold when @update begins:
//
//   accumulate %dw (3 samples of each of 2 ranks) -> three sums of a sample, each accumulated
//   read @w.gradient                              -> join_nodes (read @w.gradient), (read @w.gradient.carry.0)
//
// Relies on: @micro_batch and @update (tgpt-add-optimizer). Leaves true: the module's
// reduction is "canonical", each state is added to by one op, and an op with a sum over
// samples sums over nothing else that a grid may shard. dist-chunk-reductions cuts what
// is left.
//
//===----------------------------------------------------------------------===//

#include "cost/SumNodes.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/training/Passes.h"
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
    if (isNode())
      addCarries();
    else if (failed(addNodes()))
      signalPassFailure();
  }

  /// Parts of a micro-batch, each a power of two samples of a rank; the only micro-batch of one rank is not cut.
  int64_t partsOfMicroBatch() const { return dp * microBatches == 1 ? 1 : withoutPowersOfTwo(samples); }
  int64_t addendsOfRank() const { return microBatches * partsOfMicroBatch(); }
  /// Whether the samples of each rank are one node of the tree over all; parts of one rank could be added likewise,
  /// but are few enough to be summed at the end.
  bool isNode() const { return withoutPowersOfTwo(addendsOfRank()) == 1 || (dp == 1 && partsOfMicroBatch() == 1); }

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
    samples = tokens.getDimSize(0) / dp;
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
    if (addendsOfRank() > mostAddends)
      return refuse("micro-batches", microBatches, "at most 65536 sums of a power of two samples a rank",
                    std::max<int64_t>(mostAddends / partsOfMicroBatch(), 1));
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

  StateOp declareLike(StateOp state, const Twine &name) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(state);
    return StateOp::create(builder, state.getLoc(), state.getRole(), StringRef(name.str()),
                           cast<RankedTensorType>(state.getType()), state.getParameterAttr(), /*transient=*/true);
  }

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
        StateOp own = declareLike(state, name.getValue() + ".use." + Twine(number + 1));
        AccumulateOp use = accumulate;
        use.setSymbolAttr(FlatSymbolRefAttr::get(own.getSymNameAttr()));
        clear(own);
        addTo(name, own);
        ++numSeparated;
      }
  }

  void clear(StateOp state) {
    OpBuilder builder(begin.getBody().front().getTerminator());
    Value zero = FillOp::create(builder, state.getLoc(), state.getType(), builder.getF64FloatAttr(0.0));
    WriteOp::create(builder, state.getLoc(), zero, state.getSymName());
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

  void addCarries() {
    int64_t carries = int64_t(llvm::bit_width(uint64_t(std::max<int64_t>(microBatches, 1) - 1))) - 1;
    if (carries < 1) // two addends have one order
      return;
    auto type = RankedTensorType::get({}, IntegerType::get(&getContext(), 32));
    unsigned position = microBatch.getNumArguments();
    if (failed(microBatch.insertArgument(position, type, {}, microBatch.getLoc())))
      return signalPassFailure();
    microBatch.setArgAttr(position, "tgpt.name", StringAttr::get(&getContext(), "micro_batch"));
    SymbolTable symbols(getOperation());
    for (auto accumulate : microBatch.getOps<AccumulateOp>()) {
      auto state = symbols.lookup<StateOp>(accumulate.getSymbolAttr().getAttr());
      SmallVector<Attribute> levels;
      for (int64_t i = 0; i < carries; ++i) {
        StateOp carry = declareLike(state, state.getSymName() + ".carry." + Twine(i));
        levels.push_back(FlatSymbolRefAttr::get(carry.getSymNameAttr()));
        ++numCarries;
      }
      Builder builder(&getContext());
      accumulate.getMicroBatchMutable().assign(microBatch.getArgument(position));
      accumulate.setCarriesAttr(builder.getArrayAttr(levels));
      accumulate.setMicroBatchesAttr(builder.getI64IntegerAttr(microBatches));
    }
  }

  //===--------------------------------------------------------------------===//
  // Sums over samples that are no node of the tree
  //===--------------------------------------------------------------------===//

  LogicalResult addNodes() {
    Value numbers = numbersOfSamples();
    if (!numbers)
      return failure();
    SmallVector<AccumulateOp> accumulates(microBatch.getOps<AccumulateOp>());
    SymbolTable symbols(getOperation());
    for (AccumulateOp accumulate : accumulates)
      if (failed(accumulateNodes(accumulate, symbols.lookup<StateOp>(accumulate.getSymbolAttr().getAttr()), numbers)))
        return failure();
    for (Operation *sum : cutSums)
      if (sum->use_empty())
        sum->erase();
    return success();
  }

  /// The host input "samples", which says which addends a micro-batch holds.
  Value numbersOfSamples() {
    for (BlockArgument argument : microBatch.getArguments())
      if (auto name = microBatch.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "tgpt.name");
          name && name.getValue() == "samples")
        return argument;
    auto type = RankedTensorType::get({samples * dp}, IntegerType::get(&getContext(), 32));
    unsigned position = microBatch.getNumArguments();
    if (failed(microBatch.insertArgument(position, type, {}, microBatch.getLoc())))
      return {};
    microBatch.setArgAttr(position, "tgpt.name", StringAttr::get(&getContext(), "samples"));
    return microBatch.getArgument(position);
  }

  LogicalResult accumulateNodes(AccumulateOp accumulate, StateOp state, Value numbers) {
    SmallVector<Attribute> carries;
    for (int64_t i = 0; i + 1 < mostSumNodesAtHand(addendsOfRank(), dp); ++i) {
      StateOp carry = declareLike(state, state.getSymName() + ".carry." + Twine(i));
      carries.push_back(FlatSymbolRefAttr::get(carry.getSymNameAttr()));
      clear(carry);
      ++numCarries;
    }
    joinWhereRead(state, carries);
    Builder builder(&getContext());
    accumulate.getMicroBatchMutable().assign(numbers);
    accumulate.setCarriesAttr(builder.getArrayAttr(carries));
    accumulate.setMicroBatchesAttr(builder.getI64IntegerAttr(microBatches));
    accumulate.setNodesOfAttr(builder.getI64IntegerAttr(dp));
    return partsOfMicroBatch() == 1 ? success() : cutIntoParts(accumulate);
  }

  /// What @update reads of the state is the list of its nodes.
  void joinWhereRead(StateOp state, ArrayRef<Attribute> carries) {
    int64_t nodes = mostSumNodes(addendsOfRank(), dp);
    for (auto read : update.getOps<ReadOp>()) {
      if (read.getSymbol() != state.getSymName())
        continue;
      OpBuilder builder(&getContext());
      builder.setInsertionPointAfter(read);
      SmallVector<Value> list = {read.getValue()};
      for (Attribute carry : carries.take_front(nodes - 1))
        list.push_back(ReadOp::create(builder, read.getLoc(), cast<RankedTensorType>(state.getType()),
                                      cast<FlatSymbolRefAttr>(carry).getValue()));
      if (list.size() == 1)
        continue;
      auto join = JoinNodesOp::create(builder, read.getLoc(), read.getValue().getType(), list,
                                      builder.getI64IntegerAttr(withoutPowersOfTwo(addendsOfRank())));
      read.getValue().replaceAllUsesExcept(join.getOutput(), join);
    }
  }

  /// The sum over a rank's samples becomes one for each part, accumulated one after the other.
  LogicalResult cutIntoParts(AccumulateOp accumulate) {
    auto value = cast<OpResult>(accumulate.getValue());
    auto sum = dyn_cast<ChunkedSumOpInterface>(value.getOwner());
    std::optional<ChunkedDim> cut = sum ? sum.getChunkedDim() : std::nullopt;
    if (!cut || cut->cut != ChunkedDim::Cut::EachElement)
      return accumulate.emitOpError() << "adds what is no sum over samples, of which there are parts";
    OpBuilder builder(accumulate);
    for (int64_t part = 0; part < partsOfMicroBatch(); ++part) {
      Operation *sumOfPart = sumsOfParts(sum, part);
      auto more = cast<AccumulateOp>(builder.clone(*accumulate));
      more.getValueMutable().assign(sumOfPart->getResult(value.getResultNumber()));
      more.setPart(part);
      more.setParts(partsOfMicroBatch());
    }
    accumulate.erase();
    return success();
  }

  /// The op for a part of the samples, beside `sum`.
  Operation *sumsOfParts(Operation *sum, int64_t part) {
    auto [parts, isNew] = partsOf.try_emplace(sum);
    if (isNew) {
      OpBuilder builder(sum);
      for (int64_t i = 0; i < partsOfMicroBatch(); ++i) {
        Operation *copy = builder.clone(*sum);
        copy->setAttr(partAttributeName, PartAttr::get(&getContext(), i, partsOfMicroBatch()));
        parts->second.push_back(copy);
      }
      replaceOtherUses(sum, parts->second.front());
      cutSums.push_back(sum);
    }
    return parts->second[part];
  }

  /// Results that are no sums are whole in every part.
  static void replaceOtherUses(Operation *sum, Operation *part) {
    for (auto [result, same] : llvm::zip_equal(sum->getResults(), part->getResults()))
      result.replaceUsesWithIf(same, [](OpOperand &use) { return !isa<AccumulateOp>(use.getOwner()); });
  }

  int64_t samples = 1; ///< of a micro-batch of a rank
  llvm::DenseMap<Operation *, SmallVector<Operation *>> partsOf;
  SmallVector<Operation *> cutSums;
  func::FuncOp begin, microBatch, update;
};

} // namespace
