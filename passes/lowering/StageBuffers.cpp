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
  auto add = [&](const DeclaredVariable &variable, StageBuffer &buffer) {
    buffer.variable = &variable;
    variableBuffers[variable.name] = &buffer;
  };
  for (const DeclaredBucket &bucket : parts.buckets)
    if (flow.uses(bucket.name))
      add(bucket,
          create(bucket.location, bucket.name, planir::BufferType::of(bucket.type), planir::regionOf(bucket.role)));
  for (const DeclaredVariable &variable : parts.variables) {
    if (!flow.uses(variable.name))
      continue;
    planir::BufferType type = planir::BufferType::of(variable.type);
    if (!variable.bucket)
      add(variable, create(variable.location, variable.name, type, planir::regionOf(variable.role)));
    else if (variable.bucket->pieceAxes.empty())
      add(variable,
          createPart(variable.location, variable.name, type, ofVariable(variable.bucket->name), variable.offset));
    else
      variableBuffers[variable.name] = &ofVariable(variable.bucket->name);
  }
}

StageBuffer &StageBuffers::create(Location location, StringRef name, planir::BufferType type, MemoryKind region) {
  return addBuffer(location, name, type, region, nullptr, 0);
}

StageBuffer &StageBuffers::createPart(Location location, StringRef name, planir::BufferType type, StageBuffer &whole,
                                      int64_t offset) {
  int64_t fromByte = offset * type.getElementBytes();
  if (whole.whole) // parts of parts are parts of the whole
    fromByte += *whole.op.getFromByte();
  return addBuffer(location, name, type, whole.op.getRegion(), &whole.storage(), fromByte);
}

StageBuffer &StageBuffers::addBuffer(Location location, StringRef name, planir::BufferType type, MemoryKind region,
                                     StageBuffer *whole, int64_t fromByte) {
  std::string unique = name.str();
  while (!names.insert(unique).second)
    unique = (name + "." + Twine(++nextNumber[name])).str();
  StageBuffer &buffer = buffers.emplace_back();
  buffer.whole = whole;
  buffer.op = whole ? planir::BufferOp::create(builder, location, type, unique, region, IntegerAttr(), whole->value(),
                                               builder.getI64IntegerAttr(fromByte), /*chunk=*/0)
                    : planir::BufferOp::create(builder, location, type, unique, region);
  return buffer;
}

void StageBuffers::bind(Value root, StageBuffer &buffer) {
  const ValueFacts &facts = flow.factsOf(root);
  StageBuffer &storage = buffer.storage();
  storage.lastUse = std::max(storage.lastUse, facts.lastUse);
  storage.segments |= facts.segments;
  bufferOf[root] = &buffer;
}

/// All segments that touch a saved buffer are of one chunk, and of one micro-batch.
LogicalResult StageBuffers::chooseChunk(StageBuffer &buffer) {
  std::optional<int64_t> chunk;
  for (unsigned i : buffer.segments.set_bits()) {
    const FlowSegment &segment = flow.getSegments()[i];
    if (segment.kind == SegmentKind::Begin || segment.kind == SegmentKind::Update)
      return buffer.op.emitOpError() << "'" << buffer.op.getName() << "' is used in the "
                                     << planir::stringifySegmentKind(segment.kind)
                                     << " segment and another one; only states outlive a micro-batch";
    if (chunk && *chunk != segment.chunk)
      return buffer.op.emitOpError() << "'" << buffer.op.getName() << "' is used in chunks " << *chunk << " and "
                                     << segment.chunk << ", which have slots of their own";
    chunk = segment.chunk;
  }
  buffer.op.setChunk(*chunk);
  return success();
}

LogicalResult StageBuffers::chooseRegions() {
  for (StageBuffer &buffer : buffers) {
    MemoryKind kind = buffer.op.getRegion();
    if (buffer.variable || buffer.whole || kind == MemoryKind::Communication || kind == MemoryKind::Workspace)
      continue;
    bool isSaved = buffer.segments.count() > 1;
    buffer.op.setRegion(isSaved ? MemoryKind::Activations : MemoryKind::Scratch);
    if (isSaved && failed(chooseChunk(buffer)))
      return failure();
  }
  for (StageBuffer &buffer : buffers)
    if (buffer.whole) {
      buffer.op.setRegion(buffer.whole->op.getRegion());
      buffer.op.setChunk(buffer.whole->op.getChunk());
    }
  return success();
}
