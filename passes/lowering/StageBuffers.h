//===- StageBuffers.h - the buffers of a stage, and which value is in which ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer may hold several values one after the other (results computed in place);
// a variable's buffer holds its present value. Buffers of values that only one
// segment touches are scratch; those that several segments of a chunk (forward, backward,
// weight_gradient) touch are activations of the chunk.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_LOWERING_STAGEBUFFERS_H
#define TGPT_PASSES_LOWERING_STAGEBUFFERS_H

#include "passes/lowering/StageFlow.h"
#include "llvm/ADT/StringSet.h"
#include <deque>

namespace tgpt {

/// A buffer under construction.
struct StageBuffer {
  planir::BufferOp op;
  const DeclaredVariable *variable = nullptr;
  StageBuffer *whole = nullptr;               ///< that it is a part of
  const DeclaredVariable *gathered = nullptr; ///< whose pieces it holds, put together
  int64_t lastUse = -1;                       ///< of all values it has held so far, in itself or a part
  llvm::SmallBitVector segments;              ///< bit i: some value it held is used in segment i
  bool hasTwins = false;                      ///< bytes have two names: parts, or sides of a collective of one rank

  /// The variable that it is, or holds a copy of; null for values of the program.
  const DeclaredVariable *named() const { return variable ? variable : gathered; }
  /// What has the bytes: parts and their whole are one storage.
  StageBuffer &storage() { return whole ? *whole : *this; }
  mlir::Value value() { return op.getBuffer(); }
  planir::BufferType type() { return op.getBuffer().getType(); }
};

class StageBuffers {
public:
  /// Buffers are built at the end of `stage`, variables first.
  StageBuffers(planir::StageOp stage, const ProgramParts &parts, const StageFlow &flow);

  /// A fresh buffer; the name gets a number when it is taken.
  StageBuffer &create(mlir::Location location, llvm::StringRef name, planir::BufferType type,
                      planir::MemoryKind region);
  /// A part of `whole`, from element `offset` on.
  StageBuffer &createPart(mlir::Location location, llvm::StringRef name, planir::BufferType type, StageBuffer &whole,
                          int64_t offset);
  /// Says that `root` is now in `buffer`.
  void bind(mlir::Value root, StageBuffer &buffer);
  /// The buffer of a value, null before it is bound.
  StageBuffer *find(mlir::Value value) const { return bufferOf.lookup(rootOf(value)); }
  StageBuffer &ofVariable(llvm::StringRef name) { return *variableBuffers.lookup(name); }

  /// Gives every buffer of values its region; fails where a value would have to
  /// outlive the micro-batch.
  mlir::LogicalResult chooseRegions();

private:
  mlir::LogicalResult chooseChunk(StageBuffer &buffer);
  StageBuffer &addBuffer(mlir::Location location, llvm::StringRef name, planir::BufferType type,
                         planir::MemoryKind region, StageBuffer *whole, int64_t fromByte);

  mlir::OpBuilder builder;
  const StageFlow &flow;
  std::deque<StageBuffer> buffers;
  llvm::DenseMap<mlir::Value, StageBuffer *> bufferOf;
  llvm::StringMap<StageBuffer *> variableBuffers;
  llvm::StringSet<> names;
  llvm::StringMap<unsigned> nextNumber;
};

} // namespace tgpt

#endif // TGPT_PASSES_LOWERING_STAGEBUFFERS_H
