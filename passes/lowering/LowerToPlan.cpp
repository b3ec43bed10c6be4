//===- LowerToPlan.cpp - turn segments of tensor ops into instructions on buffers ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When does each op run, and on which buffers? One plan.program takes the place of
// everything in the module:
//
//   tgpt.linear %x, %w   ->   plan.kernel "linear"(%x, %w) -> (%y)
//
// Relies on: segments, send_recvs and schedules (dist-split-stages and a schedule
// pass). Leaves true: every instruction's buffers hold the values that its op used;
// offsets are still open (plan-assign-memory).
//
//===----------------------------------------------------------------------===//

#include "cost/KernelWorkspace.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/lowering/Passes.h"
#include "passes/lowering/StageLowering.h"
#include "passes/pipeline/StageReport.h"

namespace tgpt {
#define GEN_PASS_DEF_LOWERTOPLAN
#include "passes/lowering/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;
using planir::MemoryKind;

namespace {

/// Builds the program of a module.
class ProgramLowering {
public:
  ProgramLowering(ModuleOp module, ProgramParts &parts, uint64_t seed, int64_t globalBatch, StringRef options,
                  int64_t productWorkspaceBytes)
      : module(module), parts(parts), seed(seed), globalBatch(globalBatch), options(options),
        productWorkspaceBytes(productWorkspaceBytes), builder(module.getContext()) {}

  /// The program, inserted at the end of the module; null after an error.
  planir::ProgramOp run();
  const LoweringCounts &getCounts() const { return counts; }

private:
  FailureOr<planir::TrainingAttr> trainingFacts();
  void addChannels();
  /// Messages that a channel holds: no more than a step sends.
  int64_t depthOf(Message message) const {
    return std::min<int64_t>(message.op.getDepth().value_or(1), parts.microBatches());
  }
  LogicalResult addStage(int64_t stage, GroupTable &groups);
  void addVariables(StageLowering &lowering, const StageFlow &flow, int64_t stage);
  void addMessages(StageLowering &lowering, int64_t stage);
  void addSchedule(planir::StageOp stage, dist::ScheduleOp schedule);
  void addRegions(planir::StageOp stage, ArrayRef<int64_t> slots);

  ModuleOp module;
  ProgramParts &parts;
  uint64_t seed;
  int64_t globalBatch;
  StringRef options;
  int64_t productWorkspaceBytes;
  OpBuilder builder;
  planir::ProgramOp program;
  LoweringCounts counts;
  int64_t flopsPerMicroBatch = 0;
  llvm::StringSet<> owned; ///< variables that an earlier stage owns
};

} // namespace

/// Ids that the embedding knows: the rows of its table but padding; 0 without an embedding.
static int64_t vocabularyOf(const ProgramParts &parts) {
  for (dist::SegmentOp segment : parts.segments)
    for (auto embedding : segment.getBody().getOps<EmbeddingOp>())
      return embedding.getVocabulary().value_or(
          globalShapeOf(cast<RankedTensorType>(embedding.getTable().getType())).front());
  return 0;
}

FailureOr<planir::TrainingAttr> ProgramLowering::trainingFacts() {
  auto inputs = parts.microBatch.getArgumentTypes();
  auto tokens = inputs.empty() ? RankedTensorType() : dyn_cast<RankedTensorType>(inputs.front());
  if (!tokens || tokens.getRank() < 1)
    return parts.microBatch.emitOpError("takes no samples: its first argument has no batch dim");
  int64_t parameters = 0;
  Type compute = builder.getF32Type();
  for (const DeclaredVariable &variable : parts.variables)
    if (variable.role == planir::VariableRole::Parameter) {
      SmallVector<int64_t> global = globalShapeOf(variable.type);
      parameters += variable.window ? variable.window.elementsIn(global) : ShapedType::getNumElements(global);
      compute = variable.type.getElementType();
    }
  SmallVector<int64_t> global = globalShapeOf(tokens);
  return planir::TrainingAttr::get(builder.getContext(), global.size() > 1 ? global[1] : 1, tokens.getDimSize(0),
                                   parts.microBatches(), vocabularyOf(parts), parameters, flopsPerMicroBatch, compute,
                                   globalBatch);
}

void ProgramLowering::addChannels() {
  for (Message message : parts.messages) {
    auto type = planir::BufferType::of(cast<RankedTensorType>(message.op.getOutput().getType()));
    planir::ChannelOp::create(builder, message.op.getLoc(), message.channel, message.op.getFromAttr(),
                              message.op.getToAttr(), builder.getI64IntegerAttr(depthOf(message)), TypeAttr::get(type));
  }
}

/// The layout of a variable at the end of a step.
static dist::LayoutAttr finalLayout(RankedTensorType type, ArrayRef<StringRef> reducedAxes) {
  dist::LayoutAttr layout = dist::layoutOf(type);
  if (!layout)
    layout = dist::LayoutAttr::replicated(type.getContext(), type.getRank());
  if (!layout.isLocal())
    layout = layout.withGlobal(DenseI64ArrayAttr::get(type.getContext(), type.getShape()));
  SmallVector<StringRef> left;
  for (StringRef axis : layout.partialAxes())
    if (!llvm::is_contained(reducedAxes, axis))
      left.push_back(axis);
  return layout.withPartial(left, layout.getReduction());
}

void ProgramLowering::addVariables(StageLowering &lowering, const StageFlow &flow, int64_t stage) {
  for (const DeclaredVariable &variable : parts.variables) {
    if (!flow.uses(variable.name))
      continue;
    bool isRandom = variable.init && variable.init.getStddev() != 0;
    auto init = planir::InitializerAttr::get(
        builder.getContext(), builder.getF64FloatAttr(variable.init ? variable.init.getMean() : 0),
        isRandom ? builder.getF64FloatAttr(variable.init.getStddev()) : FloatAttr(),
        !isRandom         ? StringAttr()
        : variable.window ? variable.window.getName()
                          : variable.parameter);
    bool isOwner = owned.insert(variable.name).second;
    bool isFlat = variable.bucket && !variable.bucket->pieceAxes.empty();
    // What is in the pieces is reduced over their axes.
    SmallVector<StringRef> reduced(lowering.reducedAxesOf(variable.name));
    if (isFlat)
      llvm::append_range(reduced, variable.bucket->pieceAxes);
    planir::VariableOp::create(builder, variable.location, variable.role, variable.name, variable.parameter,
                               lowering.getBuffers().ofVariable(variable.name).value(),
                               isFlat ? builder.getI64IntegerAttr(variable.offset) : IntegerAttr(),
                               isFlat ? builder.getStrArrayAttr(variable.bucket->pieceAxes) : ArrayAttr(),
                               finalLayout(variable.type, reduced), init, isOwner, variable.window);
  }
}

/// Message buffers of the channels that lead to the stage.
void ProgramLowering::addMessages(StageLowering &lowering, int64_t stage) {
  for (Message message : parts.messages) {
    if (static_cast<int64_t>(message.op.getTo()) != stage)
      continue;
    SmallVector<Value> slots;
    auto type = planir::BufferType::of(cast<RankedTensorType>(message.op.getOutput().getType()));
    for (int64_t i = 0; i < depthOf(message); ++i)
      slots.push_back(lowering.getBuffers()
                          .create(message.op.getLoc(),
                                  ("messages." + message.channel.getValue() + "." + Twine(i)).str(), type,
                                  MemoryKind::Communication)
                          .value());
    planir::MessagesOp::create(builder, message.op.getLoc(), FlatSymbolRefAttr::get(message.channel), slots);
  }
}

/// Begin first, the entries of the dist.schedule, update last.
void ProgramLowering::addSchedule(planir::StageOp stage, dist::ScheduleOp schedule) {
  llvm::StringMap<planir::SegmentChannels> channels;
  for (auto segment : stage.getBody().getOps<planir::SegmentOp>())
    channels[segment.getName()] = planir::SegmentChannels::of(segment);
  SmallVector<Attribute> runs;
  auto add = [&](planir::SegmentKind kind, int64_t chunk, int64_t microBatch, int64_t slot,
                 planir::SchedulePhase phase) {
    std::string name = planir::segmentNameOf(kind, chunk);
    if (auto found = channels.find(name); found != channels.end())
      runs.push_back(planir::RunAttr::get(builder.getContext(), builder.getStringAttr(name), microBatch, slot, phase,
                                          found->second.receives, found->second.sends, /*page=*/0, /*leaf=*/0));
  };
  add(planir::SegmentKind::Begin, 0, -1, 0, planir::SchedulePhase::None);
  const std::pair<ArrayAttr, planir::SchedulePhase> lists[] = {
      {schedule.getWarmUp(), planir::SchedulePhase::WarmUp},
      {schedule.getSteady(), planir::SchedulePhase::Steady},
      {schedule.getCoolDown(), planir::SchedulePhase::CoolDown}};
  for (auto [list, phase] : lists)
    for (StringRef text : list.getAsValueRange<StringAttr>()) {
      dist::ScheduledSegment entry = *dist::ScheduledSegment::parse(text); // checked by dist.schedule
      add(planKindOf(entry.kind), entry.chunk, entry.microBatch, entry.slot, phase);
    }
  add(planir::SegmentKind::Update, 0, -1, 0, planir::SchedulePhase::None);
  planir::ScheduleOp::create(builder, schedule.getLoc(), builder.getArrayAttr(runs));
}

/// A region for each kind of buffer there is, and for each chunk the slots of its activations.
void ProgramLowering::addRegions(planir::StageOp stage, ArrayRef<int64_t> slots) {
  OpBuilder first = OpBuilder::atBlockBegin(&stage.getBody().front());
  auto add = [&](MemoryKind kind, int64_t count, int64_t chunk) {
    planir::RegionOp::create(first, stage.getLoc(), kind, count, IntegerAttr(), IntegerAttr(), IntegerAttr(), chunk,
                             DenseI64ArrayAttr());
  };
  for (MemoryKind kind : {MemoryKind::Workspace, MemoryKind::Parameters, MemoryKind::Gradients, MemoryKind::Optimizer,
                          MemoryKind::Activations, MemoryKind::Communication, MemoryKind::Scratch}) {
    if (kind == MemoryKind::Activations) {
      for (auto [chunk, count] : llvm::enumerate(slots))
        if (count > 0) // else the chunk is empty
          add(kind, count, chunk);
    } else if (llvm::any_of(stage.getBody().getOps<planir::BufferOp>(),
                            [&](planir::BufferOp buffer) { return buffer.getRegion() == kind; })) {
      add(kind, 1, 0);
    }
  }
}

LogicalResult ProgramLowering::addStage(int64_t number, GroupTable &groups) {
  FailureOr<StageFlow> flow = StageFlow::of(parts, number);
  if (failed(flow))
    return failure();
  OpBuilder atEnd = OpBuilder::atBlockEnd(&program.getBody().front());
  auto stage = planir::StageOp::create(atEnd, parts.schedules[number].getLoc(), number, IntegerAttr());
  stage.getBody().emplaceBlock();
  StageLowering lowering(parts, *flow, stage, groups, counts, productWorkspaceBytes);
  builder.setInsertionPointToEnd(&stage.getBody().front());
  addMessages(lowering, number);
  if (failed(lowering.run()))
    return failure();
  flopsPerMicroBatch += lowering.getModelFlops();
  // Variables follow the buffers, the schedule follows the segments.
  auto segments = stage.getBody().getOps<planir::SegmentOp>();
  if (segments.empty())
    builder.setInsertionPointToEnd(&stage.getBody().front());
  else
    builder.setInsertionPoint(*segments.begin());
  addVariables(lowering, *flow, number);
  builder.setInsertionPointToEnd(&stage.getBody().front());
  addSchedule(stage, parts.schedules[number]);
  addRegions(stage, parts.schedules[number].getSlots());
  return success();
}

planir::ProgramOp ProgramLowering::run() {
  FailureOr<planir::TrainingAttr> training = trainingFacts();
  if (failed(training))
    return {};
  builder.setInsertionPointToEnd(module.getBody());
  program = planir::ProgramOp::create(builder, module.getLoc(), module.getSymName().value_or("model"),
                                      parts.mesh.getAxes(), parts.mesh.getSizes(), *training, seed, options);
  builder.setInsertionPointToEnd(&program.getBody().emplaceBlock());
  addChannels();
  GroupTable groups(program);
  for (int64_t stage = 0; stage < parts.stageCount(); ++stage)
    if (failed(addStage(stage, groups))) {
      program.erase();
      return {};
    }
  program.setTrainingAttr(*trainingFacts()); // now with the operations counted
  return program;
}

namespace {

struct LowerToPlan : tgpt::impl::LowerToPlanBase<LowerToPlan> {
  using LowerToPlanBase::LowerToPlanBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<ProgramParts> parts = findProgramParts(module);
    if (failed(parts) || failed(checkGlobalBatch(module, *parts)))
      return signalPassFailure();
    if (productWorkspaceBytes < 0 || productWorkspaceBytes > cost::mostProductWorkspaceBytes) {
      module.emitError() << "option 'product-workspace-bytes' is " << productWorkspaceBytes.getValue()
                         << ", expected 0 to " << cost::mostProductWorkspaceBytes;
      return signalPassFailure();
    }
    ProgramLowering lowering(module, *parts, seed, globalBatch, optionsText, productWorkspaceBytes);
    planir::ProgramOp program = lowering.run();
    if (!program)
      return signalPassFailure();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*module.getBody())))
      if (&op != program)
        op.erase();
    for (NamedAttribute attribute : llvm::to_vector(module->getDiscardableAttrs())) // decisions are carried out,
      if (attribute.getName() != stageReportAttributeName)                          // but reports come later
        module->removeDiscardableAttr(attribute.getName());
    count(lowering.getCounts());
  }

  LogicalResult checkGlobalBatch(ModuleOp module, ProgramParts &parts) {
    ArrayRef<Type> inputs = parts.microBatch.getArgumentTypes();
    auto tokens = inputs.empty() ? RankedTensorType() : dyn_cast<RankedTensorType>(inputs.front());
    int64_t rows = tokens && tokens.getRank() > 0 ? tokens.getDimSize(0) : 0;
    int64_t held = rows * parts.microBatches() * parts.mesh.sizeOf("dp") * parts.mesh.sizeOf("dp_replica");
    if (globalBatch >= 0 && globalBatch <= held)
      return success();
    return module.emitError() << "option 'global-batch' is " << globalBatch.getValue()
                              << ", but the micro-batches of a step hold " << held << " samples";
  }

  void count(const LoweringCounts &counts) {
    kernels += counts.kernels;
    collectives += counts.collectives;
    startedCollectives += counts.startedCollectives;
    inPlaceResults += counts.inPlaceResults;
    inPlaceVariables += counts.inPlaceVariables;
    packedResults += counts.packedResults;
    fusedAccumulations += counts.fusedAccumulations;
    separateAccumulations += counts.separateAccumulations;
    treeAccumulations += counts.treeAccumulations;
    copies += counts.copies;
  }
};

} // namespace
