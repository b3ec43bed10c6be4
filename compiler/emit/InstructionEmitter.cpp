//===- InstructionEmitter.cpp - one instruction to plan.proto ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/InstructionEmitter.h"
#include "compiler/emit/PlanEnums.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tgpt;

void InstructionEmitter::emit(Operation &op, plan::Instruction &instruction) {
  emitOperation(op, instruction);
  emitLayouts(op, instruction);
}

void InstructionEmitter::emitOperation(Operation &op, plan::Instruction &instruction) {
  auto input = [&](Value buffer) { instruction.add_inputs(buffers.lookup(buffer)); };
  auto output = [&](Value buffer) { instruction.add_outputs(buffers.lookup(buffer)); };
  if (auto kernel = dyn_cast<planir::KernelOp>(op))
    return emitKernel(kernel, instruction);
  if (auto collective = dyn_cast<planir::CollectiveOp>(op))
    return emitCollective(collective, instruction);
  if (auto send = dyn_cast<planir::SendOp>(op)) {
    instruction.set_kind(plan::Instruction::SEND);
    instruction.set_channel(indices.channels.lookup(send.getChannel()));
    instruction.set_peer_stage(plan.channels(instruction.channel()).to_stage());
    input(send.getInput());
    setTransfer(send.getInput(), {}, instruction);
  } else if (auto recv = dyn_cast<planir::RecvOp>(op)) {
    instruction.set_kind(plan::Instruction::RECV);
    instruction.set_channel(indices.channels.lookup(recv.getChannel()));
    instruction.set_peer_stage(plan.channels(instruction.channel()).from_stage());
    output(recv.getOutput());
    setTransfer({}, recv.getOutput(), instruction);
  } else if (auto wait = dyn_cast<planir::WaitOp>(op)) {
    instruction.set_kind(plan::Instruction::WAIT);
    instruction.set_event(wait.getEvent());
    for (Value buffer : wait.getBuffers())
      input(buffer);
  } else if (auto host = dyn_cast<planir::InputOp>(op)) {
    instruction.set_kind(plan::Instruction::INPUT);
    instruction.set_opcode(host.getName().str());
    output(host.getOutput());
    setTransfer({}, host.getOutput(), instruction);
  } else if (auto report = dyn_cast<planir::OutputOp>(op)) {
    instruction.set_kind(plan::Instruction::OUTPUT);
    instruction.set_opcode(report.getName().str());
    input(report.getInput());
    setTransfer(report.getInput(), {}, instruction);
  }
  instruction.set_location(locationOf(op, op.getName().stripDialect()));
}

void InstructionEmitter::emitKernel(planir::KernelOp op, plan::Instruction &instruction) {
  instruction.set_kind(plan::Instruction::KERNEL);
  instruction.set_opcode(op.getOpcode().str());
  for (Value buffer : op.getInputs())
    instruction.add_inputs(buffers.lookup(buffer));
  for (Value buffer : op.getOutputs())
    instruction.add_outputs(buffers.lookup(buffer));
  if (op.getWorkspace())
    instruction.set_workspace(buffers.lookup(op.getWorkspace()));
  for (NamedAttribute scalar : op.getScalars())
    emitScalar(scalar, instruction);
  setCost(op.getCost(), instruction);
  instruction.set_location(locationOf(*op, op.getOpcode()));
}

void InstructionEmitter::emitScalar(NamedAttribute scalar, plan::Instruction &instruction) {
  std::string name = scalar.getName().str();
  if (auto offset = dyn_cast<planir::AxisOffsetAttr>(scalar.getValue())) {
    plan::AxisOffset *made = instruction.add_axis_offsets();
    made->set_name(name);
    for (StringRef axis : offset.getAxes().getAsValueRange<StringAttr>())
      made->add_axes(axis.str());
    made->set_stride(offset.getStride());
    return;
  }
  plan::Attribute *made = instruction.add_attributes();
  made->set_name(name);
  if (auto boolean = dyn_cast<BoolAttr>(scalar.getValue()))
    made->set_i(boolean.getValue() ? 1 : 0);
  else if (auto integer = dyn_cast<IntegerAttr>(scalar.getValue()))
    made->set_i(integer.getValue().getSExtValue());
  else if (auto number = dyn_cast<FloatAttr>(scalar.getValue()))
    made->set_f(number.getValueAsDouble());
  else if (auto text = dyn_cast<StringAttr>(scalar.getValue()))
    made->set_s(text.str());
}

void InstructionEmitter::emitCollective(planir::CollectiveOp op, plan::Instruction &instruction) {
  switch (op.getKind()) {
  case planir::CollectiveKind::AllReduceSum:
  case planir::CollectiveKind::AllReduceMax: instruction.set_kind(plan::Instruction::ALL_REDUCE); break;
  case planir::CollectiveKind::AllGather: instruction.set_kind(plan::Instruction::ALL_GATHER); break;
  case planir::CollectiveKind::ReduceScatter: instruction.set_kind(plan::Instruction::REDUCE_SCATTER); break;
  case planir::CollectiveKind::AllToAll: instruction.set_kind(plan::Instruction::ALL_TO_ALL); break;
  }
  if (op.getKind() == planir::CollectiveKind::AllReduceMax)
    instruction.set_opcode("max");
  else if (op.getKind() == planir::CollectiveKind::AllReduceSum ||
           op.getKind() == planir::CollectiveKind::ReduceScatter)
    instruction.set_opcode(op.getTree() ? "tree_sum" : "sum");
  instruction.add_inputs(buffers.lookup(op.getInput()));
  instruction.add_outputs(buffers.lookup(op.getOutput()));
  instruction.set_group(indices.groups.lookup(op.getGroup()));
  instruction.set_dim(op.getDim().value_or(0));
  instruction.set_dim2(op.getConcat().value_or(0));
  instruction.set_event(op.getEvent().value_or(0));
  instruction.set_stream(streamOf(op.getStream().value_or(planir::Stream::Compute)));
  setCost(op.getCost(), instruction);
  instruction.set_location(locationOf(*op, planir::stringifyCollectiveKind(op.getKind())));
}

void InstructionEmitter::setCost(planir::CostAttr cost, plan::Instruction &instruction) {
  instruction.mutable_cost()->set_flops(cost.getFlops());
  instruction.mutable_cost()->set_bytes_read(cost.getBytesRead());
  instruction.mutable_cost()->set_bytes_written(cost.getBytesWritten());
  instruction.mutable_cost()->set_work(workOf(cost.getWork()));
}

void InstructionEmitter::setTransfer(Value read, Value written, plan::Instruction &instruction) {
  if (read)
    instruction.mutable_cost()->set_bytes_read(cast<planir::BufferType>(read.getType()).getBytes());
  if (written)
    instruction.mutable_cost()->set_bytes_written(cast<planir::BufferType>(written.getType()).getBytes());
}

//===----------------------------------------------------------------------===//
// Layouts and locations
//===----------------------------------------------------------------------===//

void InstructionEmitter::emitLayouts(Operation &op, plan::Instruction &instruction) {
  auto layouts = op.getAttrOfType<ArrayAttr>(planir::layoutsName);
  auto numbers = op.getAttrOfType<DenseI64ArrayAttr>(planir::valuesName);
  if (!layouts || !numbers)
    return;
  instruction.mutable_values()->Add(numbers.asArrayRef().begin(), numbers.asArrayRef().end());
  for (auto layout : layouts.getAsRange<dist::LayoutAttr>())
    instruction.add_layouts(layoutIndexOf(layout));
}

uint32_t InstructionEmitter::layoutIndexOf(dist::LayoutAttr layout) {
  auto [entry, isNew] = indices.layouts.try_emplace(layout, plan.layouts_size());
  if (!isNew)
    return entry->second;
  plan::Layout *made = plan.add_layouts();
  for (int64_t dim = 0; dim < layout.getRank(); ++dim) {
    plan::DimSharding *sharding = made->add_dims();
    for (StringRef axis : layout.axesOf(dim))
      sharding->add_axes(axis.str());
  }
  for (StringRef axis : layout.partialAxes())
    made->add_partial_axes(axis.str());
  if (layout.isPartial())
    made->set_reduction(dist::stringifyReductionKind(layout.getReduction()).str());
  return entry->second;
}

/// "model.mlir:42:5 linear": the model line (its folder does not matter) and the
/// instruction. Locations without a line are unknown.
uint32_t InstructionEmitter::locationOf(Operation &op, StringRef what) {
  FileLineColLoc line;
  op.getLoc()->walk([&](Location part) {
    line = dyn_cast<FileLineColLoc>(part);
    return line ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!line)
    return 0;
  std::string text = (llvm::sys::path::filename(line.getFilename().getValue()) + ":" + Twine(line.getLine()) + ":" +
                      Twine(line.getColumn()) + " " + what)
                         .str();
  auto [entry, isNew] = indices.locations.try_emplace(text, plan.locations_size());
  if (isNew)
    plan.add_locations(text);
  return entry->second;
}
