//===- StageBuffers.cpp - the buffers of a stage, and which value is in which ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See StageBuffers.h.
//
//===----------------------------------------------------------------------===//

#include "passes/lowering/StageBuffers.h"

using namespace mlir;
using namespace tgpt;
using planir::MemoryKind;
using planir::SegmentKind;

StageBuffers::StageBuffers(planir::StageOp stage, const ProgramParts &parts, const StageFlow &flow)
    : builder(OpBuilder::atBlockEnd(&stage.getBody().front())), flow(flow) {
  for (const DeclaredVariable &variable : parts.variables) {
    if (!flow.uses(variable.name))
      continue;
    StageBuffer &buffer = create(variable.location, variable.name, planir::BufferType::of(variable.type),
                                 planir::regionOf(variable.role));
    buffer.variable = &variable;
    variableBuffers[variable.name] = &buffer;
  }
}

StageBuffer &StageBuffers::create(Location location, StringRef name, planir::BufferType type, MemoryKind region) {
  std::string unique = name.str();
  while (!names.insert(unique).second)
    unique = (name + "." + Twine(++nextNumber[name])).str();
  StageBuffer &buffer = buffers.emplace_back();
  buffer.op = planir::BufferOp::create(builder, location, type, unique, region, IntegerAttr());
  return buffer;
}

void StageBuffers::bind(Value root, StageBuffer &buffer) {
  const ValueFacts &facts = flow.factsOf(root);
  buffer.lastUse = std::max(buffer.lastUse, facts.lastUse);
  buffer.segments |= facts.segments;
  bufferOf[root] = &buffer;
}

LogicalResult StageBuffers::chooseRegions(const StageFlow &flow) {
  for (StageBuffer &buffer : buffers) {
    if (buffer.variable || buffer.op.getRegion() == MemoryKind::Communication)
      continue;
    bool isSaved = llvm::popcount(buffer.segments) > 1;
    for (auto [i, segment] : llvm::enumerate(flow.getSegments()))
      if (isSaved && (buffer.segments >> i & 1) && segment.kind != SegmentKind::Forward &&
          segment.kind != SegmentKind::Backward)
        return buffer.op.emitOpError() << "'" << buffer.op.getName() << "' is used in the "
                                       << planir::stringifySegmentKind(segment.kind)
                                       << " segment and another one; only states outlive a micro-batch";
    buffer.op.setRegion(isSaved ? MemoryKind::Activations : MemoryKind::Scratch);
  }
  return success();
}
