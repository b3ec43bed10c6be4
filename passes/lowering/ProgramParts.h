//===- ProgramParts.h - what a pipelined module holds ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mesh, variables, segments, messages and schedules of a module, found once, so that
// lowering a stage needs no further search.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_LOWERING_PROGRAMPARTS_H
#define TGPT_PASSES_LOWERING_PROGRAMPARTS_H

#include "dialects/dist/Dist.h"
#include "dialects/plan/Plan.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include <deque>

namespace tgpt {

struct DeclaredBucket;

/// A parameter or state of the module.
struct DeclaredVariable {
  mlir::Location location;
  mlir::StringAttr name;
  mlir::RankedTensorType type;
  planir::VariableRole role;
  mlir::StringAttr parameter;             ///< null for a metric or a loss scaling
  InitAttr init;                          ///< null: zeros
  bool isTransient = false;               ///< may be overwritten after its last read in the update
  const DeclaredBucket *bucket = nullptr; ///< that it is a member of
  int64_t offset = 0;                     ///< its first element there
  dist::WindowAttr window = {};           ///< of its parameter; null: it is the tensor itself
};

/// A bucket of the module, with what it takes from its members.
struct DeclaredBucket : DeclaredVariable {
  llvm::SmallVector<llvm::StringRef, 2> pieceAxes; ///< empty: members have buffers too, parts of its buffer
};

/// A value that moves between stages.
struct Message {
  dist::SendRecvOp op;
  dist::SegmentOp sender;
  mlir::StringAttr channel;
};

/// A value that the step reports.
struct ReportedValue {
  mlir::Value value;
  dist::SegmentOp reporter;
  mlir::StringAttr name;
};

struct ProgramParts {
  dist::MeshOp mesh;
  mlir::func::FuncOp microBatch;
  llvm::SmallVector<mlir::func::FuncOp> functions;
  llvm::SmallVector<dist::SegmentOp> segments; ///< in program order: begin, micro-batch, update
  llvm::SmallVector<DeclaredVariable> variables;
  std::deque<DeclaredBucket> buckets; ///< addresses stay
  llvm::StringMap<unsigned> variableIndex;
  llvm::StringMap<mlir::StringRef> storage; ///< of members, the name of their bucket
  llvm::SmallVector<Message> messages;
  llvm::SmallVector<ReportedValue> reports;
  llvm::SmallVector<dist::ScheduleOp> schedules; ///< by stage

  int64_t stageCount() { return mesh.sizeOf("pp"); }
  int64_t microBatches() { return schedules.front().getMicroBatches(); }
  const DeclaredVariable &variable(llvm::StringRef name) const { return variables[variableIndex.lookup(name)]; }
  /// What has bytes of its own: the bucket of a member, else the symbol itself.
  llvm::StringRef storageOf(llvm::StringRef symbol) const {
    auto found = storage.find(symbol);
    return found == storage.end() ? symbol : found->second;
  }
};

/// Finds the parts; fails with a message on a module that is not pipelined.
mlir::FailureOr<ProgramParts> findProgramParts(mlir::ModuleOp module);

/// The op result, message or function argument that a value stands for: looks
/// through the results of segments.
mlir::Value rootOf(mlir::Value value);

} // namespace tgpt

#endif // TGPT_PASSES_LOWERING_PROGRAMPARTS_H
