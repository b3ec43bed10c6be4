//===- StageLowering.h - one stage as plan ops ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the line of a stage and writes an instruction for each op, choosing where
// each result goes: added to an accumulator, into a variable, in place of an operand
// that is dead, or into a buffer of its own.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_LOWERING_STAGELOWERING_H
#define TGPT_PASSES_LOWERING_STAGELOWERING_H

#include "passes/lowering/GroupTable.h"
#include "passes/lowering/StageBuffers.h"

namespace tgpt {

/// What was decided, for the pass's statistics.
struct LoweringCounts {
  int64_t kernels = 0, collectives = 0, startedCollectives = 0;
  int64_t inPlaceResults = 0;   ///< results in the buffer of a dead operand
  int64_t inPlaceVariables = 0; ///< variables updated where they are
  int64_t packedResults = 0;    ///< results computed where they are packed
  int64_t fusedAccumulations = 0, separateAccumulations = 0, treeAccumulations = 0;
  int64_t copies = 0; ///< writes and reads that needed a copy
};

class StageLowering {
public:
  /// `productWorkspaceBytes`: what each product that may be a library's is given beside its operands.
  StageLowering(const ProgramParts &parts, const StageFlow &flow, planir::StageOp stage, GroupTable &groups,
                LoweringCounts &counts, int64_t productWorkspaceBytes);

  /// Writes buffers and segments.
  mlir::LogicalResult run();

  /// Axes over which the variable's addends have been summed in its own buffer.
  llvm::ArrayRef<llvm::StringRef> reducedAxesOf(llvm::StringRef variable) const;
  StageBuffers &getBuffers() { return buffers; }
  /// Operations of the model's matrix products and attention for one micro-batch of a
  /// dp rank, over the tp ranks of the stage.
  int64_t getModelFlops() const { return modelFlops; }

private:
  mlir::LogicalResult lower(const FlowItem &item);
  mlir::LogicalResult lowerOp(mlir::Operation *op);
  void lowerRead(ReadOp op);
  void lowerWrite(WriteOp op);
  void lowerAccumulate(AccumulateOp op);
  void lowerTreeAccumulate(AccumulateOp op);
  void lowerNodeAccumulate(AccumulateOp op);
  void lowerPack(dist::PackOp op);
  void lowerUnpack(dist::UnpackOp op);
  mlir::LogicalResult lowerKernel(KernelOpInterface op);
  mlir::LogicalResult lowerCollective(mlir::Operation *op);
  void lowerWait(dist::WaitOp op);

  /// Where result `i` of `op` goes; sets the bit of `accumulated` when it is added.
  StageBuffer &placeResult(KernelOpInterface op, unsigned i, int64_t &accumulated);
  StageBuffer *accumulatorFor(KernelOpInterface op, unsigned i);
  StageBuffer *variableFor(mlir::Operation *op, unsigned i);
  StageBuffer *partFor(mlir::Operation *op, unsigned i);
  StageBuffer &flatFor(dist::PackOp pack);
  StageBuffer *deadOperandFor(KernelOpInterface op, unsigned i);
  StageBuffer *inPlaceReduction(mlir::Operation *op);
  StageBuffer &placeCollective(mlir::Operation *op);
  bool isOperandOnce(mlir::Operation *op, StageBuffer *buffer);
  static bool shareBytes(StageBuffer *a, StageBuffer *b) { return &a->storage() == &b->storage(); }
  /// A result of the kernel at hand has bytes of `buffer`.
  bool isTaken(StageBuffer *buffer);

  void addChunks(mlir::Operation *op, int64_t chunks, mlir::NamedAttrList &scalars);
  mlir::FailureOr<mlir::DictionaryAttr> scalarsOf(KernelOpInterface op, int64_t accumulated);
  planir::CostAttr costOf(mlir::Operation *op);
  planir::CostAttr costWithAccumulation(mlir::Operation *op, int64_t accumulated);
  void countModelFlops(KernelOpInterface op);
  planir::KernelOp writeKernel(mlir::Location location, llvm::StringRef opcode, llvm::ArrayRef<mlir::Value> inputs,
                               llvm::ArrayRef<mlir::Value> outputs, mlir::DictionaryAttr scalars,
                               planir::CostAttr cost);
  /// Gives the kernels at hand one workspace, as large as the largest need: they run on one stream.
  void addWorkspace();
  planir::KernelOp writeCopy(mlir::Location location, StageBuffer &from, StageBuffer &to);
  /// What the ranks of a stage hold of a value: its layout but for "pp".
  static dist::LayoutAttr layoutOnStage(mlir::Value value);
  /// Names the value for the checker of plans: 0 for what a variable holds. What is packed
  /// into a flat value, or unpacked from one, has the number of that.
  int64_t numberOf(mlir::Value value);
  /// Says on the instruction which values it reads and makes and how they are spread over
  /// the ranks; result i of which bit i is set becomes, or is added to, a variable.
  void describe(mlir::Operation *instruction, mlir::ValueRange operands, mlir::ValueRange results,
                int64_t intoVariables = 0);
  void setOperandFacts(mlir::Operation *instruction, llvm::ArrayRef<mlir::Attribute> layouts,
                       llvm::ArrayRef<int64_t> numbers);
  void enterScope(mlir::Operation *op);
  std::string nameFor(mlir::Operation *op, unsigned result);

  const ProgramParts &parts;
  const StageFlow &flow;
  planir::StageOp stage;
  GroupTable &groups;
  llvm::StringMap<int64_t> meetings; // of this stage with others, so far, by group
  LoweringCounts &counts;
  int64_t productWorkspaceBytes;
  llvm::SmallVector<planir::KernelOp> kernelsWithWorkspace;
  int64_t workspaceBytes = 0; ///< the most that one of them needs
  StageBuffers buffers;
  mlir::OpBuilder builder; ///< at the end of the segment at hand
  planir::SegmentKind segmentKind = planir::SegmentKind::Begin;
  int64_t position = 0;
  std::string scope;                               ///< where in the model we are: "layers.3"
  std::string prefix;                              ///< of the names of the op's results: "layers.3.attn.q"
  llvm::DenseSet<mlir::Operation *> done;          ///< accumulations fused into their producer
  llvm::DenseSet<StageBuffer *> takenByThisKernel; ///< outputs chosen so far
  llvm::StringMap<llvm::SmallVector<llvm::StringRef>> reducedAxes; ///< by what has the bytes
  llvm::DenseMap<mlir::Operation *, StageBuffer *> flatOfPack;
  llvm::DenseMap<mlir::Value, int64_t> valueNumbers;
  llvm::DenseMap<mlir::Value, planir::CollectiveOp> flights; ///< by pending value
  int64_t events = 0;                                        ///< of the segment at hand
  int64_t modelFlops = 0;
};

} // namespace tgpt

#endif // TGPT_PASSES_LOWERING_STAGELOWERING_H
