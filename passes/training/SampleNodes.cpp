//===- SampleNodes.cpp - accumulators of samples that are no node -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/training/SampleNodes.h"
#include "cost/SumNodes.h"

using namespace mlir;
using namespace tgpt;

int64_t SampleRange::partsOfMicroBatch() const {
  return dp * microBatches == 1 ? 1 : withoutPowersOfTwo(samples);
}

bool SampleRange::isNode() const {
  return withoutPowersOfTwo(addendsOfRank()) == 1 || (dp == 1 && partsOfMicroBatch() == 1);
}

StateOp tgpt::declareStateLike(StateOp state, const Twine &name) {
  OpBuilder builder(state.getContext());
  builder.setInsertionPointAfter(state);
  return StateOp::create(builder, state.getLoc(), state.getRole(), StringRef(name.str()),
                         cast<RankedTensorType>(state.getType()), state.getParameterAttr(), /*transient=*/true);
}

void tgpt::clearState(func::FuncOp begin, StateOp state) {
  OpBuilder builder(begin.getBody().front().getTerminator());
  Value zero = FillOp::create(builder, state.getLoc(), state.getType(), builder.getF64FloatAttr(0.0));
  WriteOp::create(builder, state.getLoc(), zero, state.getSymName());
}

LogicalResult SampleNodes::accumulateAll(SymbolTable &symbols) {
  Value numbers = numbersOfSamples();
  if (!numbers)
    return failure();
  SmallVector<AccumulateOp> all(microBatch.getOps<AccumulateOp>());
  for (AccumulateOp op : all)
    if (failed(accumulate(op, symbols.lookup<StateOp>(op.getSymbolAttr().getAttr()), numbers)))
      return failure();
  for (Operation *sum : cutSums)
    if (sum->use_empty())
      sum->erase();
  return success();
}

/// The host input "samples", which says which addends a micro-batch holds.
Value SampleNodes::numbersOfSamples() {
  for (BlockArgument argument : microBatch.getArguments())
    if (auto name = microBatch.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "tgpt.name");
        name && name.getValue() == "samples")
      return argument;
  auto type = RankedTensorType::get({range.samples * range.dp}, IntegerType::get(microBatch.getContext(), 32));
  unsigned position = microBatch.getNumArguments();
  if (failed(microBatch.insertArgument(position, type, {}, microBatch.getLoc())))
    return {};
  microBatch.setArgAttr(position, "tgpt.name", StringAttr::get(microBatch.getContext(), "samples"));
  return microBatch.getArgument(position);
}

LogicalResult SampleNodes::accumulate(AccumulateOp accumulate, StateOp state, Value numbers) {
  SmallVector<Attribute> carries;
  for (int64_t i = 0; i + 1 < mostSumNodesAtHand(range.addendsOfRank(), range.dp); ++i) {
    StateOp carry = declareStateLike(state, state.getSymName() + ".carry." + Twine(i));
    carries.push_back(FlatSymbolRefAttr::get(carry.getSymNameAttr()));
    clearState(begin, carry);
    ++carryCount;
  }
  joinWhereRead(state, carries);
  Builder builder(microBatch.getContext());
  accumulate.getMicroBatchMutable().assign(numbers);
  accumulate.setCarriesAttr(builder.getArrayAttr(carries));
  accumulate.setMicroBatchesAttr(builder.getI64IntegerAttr(range.microBatches));
  accumulate.setNodesOfAttr(builder.getI64IntegerAttr(range.dp));
  return range.partsOfMicroBatch() == 1 ? success() : cutIntoParts(accumulate);
}

/// What @update reads of the state is the list of its nodes.
void SampleNodes::joinWhereRead(StateOp state, ArrayRef<Attribute> carries) {
  int64_t nodes = mostSumNodes(range.addendsOfRank(), range.dp);
  for (auto read : update.getOps<ReadOp>()) {
    if (read.getSymbol() != state.getSymName())
      continue;
    OpBuilder builder(microBatch.getContext());
    builder.setInsertionPointAfter(read);
    SmallVector<Value> list = {read.getValue()};
    for (Attribute carry : carries.take_front(nodes - 1))
      list.push_back(ReadOp::create(builder, read.getLoc(), cast<RankedTensorType>(state.getType()),
                                    cast<FlatSymbolRefAttr>(carry).getValue()));
    if (list.size() == 1)
      continue;
    auto join = JoinNodesOp::create(builder, read.getLoc(), read.getValue().getType(), list,
                                    builder.getI64IntegerAttr(withoutPowersOfTwo(range.addendsOfRank())));
    read.getValue().replaceAllUsesExcept(join.getOutput(), join);
  }
}

/// The sum over a rank's samples becomes one for each part, accumulated one after the other.
LogicalResult SampleNodes::cutIntoParts(AccumulateOp accumulate) {
  auto value = cast<OpResult>(accumulate.getValue());
  auto sum = dyn_cast<ChunkedSumOpInterface>(value.getOwner());
  std::optional<ChunkedDim> cut = sum ? sum.getChunkedDim() : std::nullopt;
  if (!cut || cut->cut != ChunkedDim::Cut::EachElement)
    return accumulate.emitOpError() << "adds what is no sum over samples, of which there are parts";
  OpBuilder builder(accumulate);
  for (int64_t part = 0; part < range.partsOfMicroBatch(); ++part) {
    auto more = cast<AccumulateOp>(builder.clone(*accumulate));
    more.getValueMutable().assign(sumOfPart(sum, part)->getResult(value.getResultNumber()));
    more.setPart(part);
    more.setParts(range.partsOfMicroBatch());
  }
  accumulate.erase();
  return success();
}

/// Results that are no sums are whole in every part.
static void replaceOtherUses(Operation *sum, Operation *part) {
  for (auto [result, same] : llvm::zip_equal(sum->getResults(), part->getResults()))
    result.replaceUsesWithIf(same, [](OpOperand &use) { return !isa<AccumulateOp>(use.getOwner()); });
}

/// The op for a part of the samples, beside `sum`.
Operation *SampleNodes::sumOfPart(Operation *sum, int64_t part) {
  auto [parts, isNew] = partsOf.try_emplace(sum);
  if (isNew) {
    OpBuilder builder(sum);
    for (int64_t i = 0; i < range.partsOfMicroBatch(); ++i) {
      Operation *copy = builder.clone(*sum);
      copy->setAttr(partAttributeName, PartAttr::get(microBatch.getContext(), i, range.partsOfMicroBatch()));
      parts->second.push_back(copy);
    }
    replaceOtherUses(sum, parts->second.front());
    cutSums.push_back(sum);
  }
  return parts->second[part];
}
