//===- LowerVariables.cpp - instructions that read, write and add to variables ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a stage's program says of variables: most reads and writes are no instruction, but name a variable's buffer.
//
//===----------------------------------------------------------------------===//

#include "passes/lowering/StageLowering.h"

using namespace mlir;
using namespace tgpt;
using planir::CostAttr;
using planir::MemoryKind;

/// A read names the variable's buffer, unless the variable changes before the last use.
void StageLowering::lowerRead(ReadOp op) {
  StageBuffer &variable = buffers.ofVariable(op.getSymbol());
  if (!flow.hasEvent(op.getSymbol(), position, flow.factsOf(op.getValue()).lastUse, StageFlow::Events::Writes))
    return buffers.bind(op.getValue(), variable);
  StageBuffer &copy =
      buffers.create(op.getLoc(), (op.getSymbol() + ".before").str(), variable.type(), MemoryKind::Scratch);
  planir::KernelOp kernel = writeCopy(op.getLoc(), variable, copy);
  buffers.bind(op.getValue(), copy);
  describe(kernel, op.getValue(), op.getValue());
  kernel->setAttr(planir::valuesName, builder.getDenseI64ArrayAttr({0, numberOf(op.getValue())}));
}

/// A write is nothing where its value was computed in the variable; a value without
/// operands is computed there now; any other is copied.
void StageLowering::lowerWrite(WriteOp op) {
  StageBuffer &variable = buffers.ofVariable(op.getSymbol());
  StageBuffer *value = buffers.find(op.getValue());
  if (value == &variable)
    return;
  auto producer = rootOf(op.getValue()).getDefiningOp<KernelOpInterface>();
  if (!value || (producer && producer->getNumOperands() == 0 && producer->getNumResults() == 1)) {
    auto kernel = writeKernel(producer.getLoc(), producer.getKernelName(), {}, variable.value(),
                              producer.getKernelAttributes().getDictionary(op.getContext()), costOf(producer));
    return describe(kernel, {}, op.getValue(), /*intoVariables=*/1);
  }
  describe(writeCopy(op.getLoc(), *value, variable), op.getValue(), op.getValue(), /*intoVariables=*/1);
}

void StageLowering::lowerAccumulate(AccumulateOp op) {
  if (done.contains(op))
    return;
  if (op.getCarries())
    return lowerTreeAccumulate(op);
  ++counts.separateAccumulations;
  Value input = buffers.find(op.getValue())->value(), output = buffers.ofVariable(op.getSymbol()).value();
  auto kernel = writeKernel(op.getLoc(), "accumulate", input, output, builder.getDictionaryAttr({}), costOf(op));
  describe(kernel, op.getValue(), op.getValue(), /*intoVariables=*/1);
}

/// The kernel reads and writes the levels that the micro-batch's number names.
void StageLowering::lowerTreeAccumulate(AccumulateOp op) {
  ++counts.treeAccumulations;
  if (op.getNodesOf())
    return lowerNodeAccumulate(op);
  SmallVector<Value> outputs, values;
  for (FlatSymbolRefAttr level : op.getLevels()) {
    outputs.push_back(buffers.ofVariable(level.getValue()).value());
    values.push_back(op.getValue());
  }
  int64_t all = (int64_t(1) << outputs.size()) - 1;
  NamedAttrList scalars;
  scalars.append("accumulate", builder.getI64IntegerAttr(all));
  scalars.append("micro_batches", op.getMicroBatchesAttr());
  auto kernel = writeKernel(op.getLoc(), "accumulate_tree",
                            {buffers.find(op.getValue())->value(), buffers.find(op.getMicroBatch())->value()}, outputs,
                            scalars.getDictionary(op.getContext()), costOf(op));
  describe(kernel, {op.getValue(), op.getMicroBatch()}, values, /*intoVariables=*/all);
}

/// The kernel reads and writes the nodes that the number of the first sample names: the state, then the carries.
void StageLowering::lowerNodeAccumulate(AccumulateOp op) {
  SmallVector<FlatSymbolRefAttr> states = op.getLevels();
  std::rotate(states.begin(), states.end() - 1, states.end());
  SmallVector<Value> outputs, values(states.size(), op.getValue());
  for (FlatSymbolRefAttr state : states)
    outputs.push_back(buffers.ofVariable(state.getValue()).value());
  int64_t all = (int64_t(1) << outputs.size()) - 1;
  NamedAttrList scalars;
  scalars.append("accumulate", builder.getI64IntegerAttr(all));
  scalars.append("micro_batches", op.getMicroBatchesAttr());
  scalars.append("part", op.getPartAttr());
  scalars.append("parts", op.getPartsAttr());
  scalars.append("ranks", op.getNodesOfAttr());
  auto kernel = writeKernel(op.getLoc(), "accumulate_nodes",
                            {buffers.find(op.getValue())->value(), buffers.find(op.getMicroBatch())->value()}, outputs,
                            scalars.getDictionary(op.getContext()), costOf(op));
  describe(kernel, {op.getValue(), op.getMicroBatch()}, values, /*intoVariables=*/all);
}

planir::KernelOp StageLowering::writeCopy(Location location, StageBuffer &from, StageBuffer &to) {
  ++counts.copies;
  int64_t bytes = from.type().getBytes();
  return writeKernel(location, "copy", from.value(), to.value(), builder.getDictionaryAttr({}),
                     CostAttr::get(builder.getContext(), 0, bytes, bytes));
}
