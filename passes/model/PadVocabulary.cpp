//===- PadVocabulary.cpp - rows that no id names ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many rows do the embedding and the head have, so that `multiple` divides them?
// The rows that are added begin as zeros and stay zeros to the bit: ids are below the
// vocabulary, the loss masks their logits, so their gradient is exactly 0, their moments
// too, and AdamW's step and the decay of 0 are 0.
//
// Relies on: a model before tgpt-differentiate, layers written out. Leaves true: the
// parameters are windows on their unpadded selves, and ops that must know say so
// (`vocabulary`, `tgpt.model_share`).
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/model/Passes.h"
#include "llvm/ADT/SetVector.h"
#include <limits>

namespace tgpt {
#define GEN_PASS_DEF_PADVOCABULARY
#include "passes/model/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

/// The type with another number of entries in dim `dim`.
RankedTensorType resized(Type type, int64_t dim, int64_t size) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  shape[dim] = size;
  return tensor.clone(shape);
}

bool isLogits(Value value) {
  return !value.use_empty() &&
         llvm::all_of(value.getUsers(), [](Operation *user) { return isa<CrossEntropyOp>(user); });
}

struct PadVocabularyPass : tgpt::impl::PadVocabularyBase<PadVocabularyPass> {
  using PadVocabularyBase::PadVocabularyBase;

  void runOnOperation() override {
    if (multiple < 1) {
      getOperation().emitError() << "option 'multiple' is " << int64_t(multiple) << ", expected at least 1";
      return signalPassFailure();
    }
    SymbolTable table(getOperation()); // a look-up in the module itself is linear
    symbols = &table;
    llvm::SetVector<Operation *> tables;
    getOperation().walk([&](Operation *op) {
      if (auto embedding = dyn_cast<EmbeddingOp>(op))
        insertParameter(embedding.getTable(), tables);
      if (auto linear = dyn_cast<LinearOp>(op); linear && isLogits(linear.getOutput()))
        for (Value operand : linear->getOperands().drop_front())
          insertParameter(operand, tables);
    });
    for (Operation *parameter : tables)
      if (failed(pad(cast<ParameterOp>(parameter))))
        return signalPassFailure();
    if (getOperation().walk([&](CrossEntropyOp loss) { return WalkResult(checkLogits(loss)); }).wasInterrupted())
      signalPassFailure();
  }

  void insertParameter(Value value, llvm::SetVector<Operation *> &tables) {
    if (auto read = value.getDefiningOp<ReadOp>())
      if (auto parameter = symbols->lookup<ParameterOp>(read.getSymbolAttr().getAttr()))
        tables.insert(parameter);
  }

  LogicalResult pad(ParameterOp parameter) {
    auto type = cast<RankedTensorType>(parameter.getType());
    int64_t rows = type.getDimSize(0), padded = (rows + multiple - 1) / multiple * multiple;
    if (padded == rows) {
      ++numKept;
      return success();
    }
    if (padded > std::numeric_limits<int32_t>::max())
      return parameter.emitError() << "the vocabulary of " << rows << " padded to a multiple of " << int64_t(multiple)
                                   << " is " << padded << ", but ids are i32";
    if (parameter.getWindow())
      return parameter.emitError() << "is a window already, its rows cannot be padded";
    SmallVector<ReadOp> reads;
    std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(parameter, getOperation());
    for (SymbolTable::SymbolUse use : *uses) {
      auto read = dyn_cast<ReadOp>(use.getUser());
      if (!read || failed(checkReaders(read, parameter)))
        return failure();
      reads.push_back(read);
    }
    SmallVector<int64_t> at(type.getRank(), 0);
    parameter.setWindowAttr(dist::WindowAttr::get(&getContext(), parameter.getSymNameAttr(), type.getShape(), at));
    parameter.setType(resized(type, 0, padded));
    for (ReadOp read : reads) {
      read.getValue().setType(resized(type, 0, padded));
      for (Operation *reader : read.getValue().getUsers())
        padReader(reader, rows, padded);
    }
    ++numPadded;
    numRows += padded - rows;
    return success();
  }

  LogicalResult checkReaders(ReadOp read, ParameterOp parameter) {
    for (Operation *reader : read.getValue().getUsers()) {
      auto linear = dyn_cast<LinearOp>(reader);
      if (isa<EmbeddingOp>(reader) || (linear && linear.getInput() != read.getValue() && isLogits(linear.getOutput())))
        continue;
      InFlightDiagnostic error = reader->emitError() << "reads '@" << parameter.getSymName() << "', whose "
                                                     << cast<RankedTensorType>(parameter.getType()).getDimSize(0)
                                                     << " rows cannot be padded to a multiple of " << int64_t(multiple)
                                                     << ": it is neither an embedding nor a linear that makes logits";
      error.attachNote(parameter.getLoc()) << "declared here";
      return error;
    }
    return success();
  }

  void padReader(Operation *reader, int64_t rows, int64_t padded) {
    Builder builder(&getContext());
    IntegerAttr vocabulary = builder.getI64IntegerAttr(rows);
    if (auto embedding = dyn_cast<EmbeddingOp>(reader))
      return embedding.setVocabularyAttr(vocabulary);
    auto linear = cast<LinearOp>(reader);
    linear->setAttr(modelShareAttributeName, builder.getF64FloatAttr(double(rows) / double(padded)));
    linear.getOutput().setType(
        resized(linear.getOutput().getType(), linear.getOutput().getType().getRank() - 1, padded));
    for (Operation *loss : linear.getOutput().getUsers())
      cast<CrossEntropyOp>(loss).setVocabularyAttr(vocabulary);
  }

  /// Logits that come from elsewhere are as they are: they must be divisible.
  LogicalResult checkLogits(CrossEntropyOp loss) {
    int64_t columns = loss.getLogits().getType().getShape().back();
    if (columns % multiple == 0)
      return success();
    return loss.emitError() << "has logits of " << columns << " columns, which " << int64_t(multiple)
                            << " does not divide, and they are not made by a linear whose weight could be padded";
  }

  SymbolTable *symbols = nullptr;
};

} // namespace
