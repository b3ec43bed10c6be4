//===- ProgramParts.cpp - what a pipelined module holds ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search behind ProgramParts.h.
//
//===----------------------------------------------------------------------===//

#include "passes/lowering/ProgramParts.h"
#include <map>
#include <set>

using namespace mlir;
using namespace tgpt;

Value tgpt::rootOf(Value value) {
  while (auto segment = value.getDefiningOp<dist::SegmentOp>())
    value = segment.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
  return value;
}

static planir::VariableRole roleOf(StateRole role) {
  switch (role) {
  case StateRole::Gradient: return planir::VariableRole::Gradient;
  case StateRole::Master: return planir::VariableRole::Master;
  case StateRole::Moment1: return planir::VariableRole::Moment1;
  case StateRole::Moment2: return planir::VariableRole::Moment2;
  case StateRole::Metric: return planir::VariableRole::Metric;
  case StateRole::Scaling: return planir::VariableRole::Scaling;
  }
  llvm_unreachable("a role of the enum");
}

static void findVariables(ModuleOp module, ProgramParts &parts) {
  llvm::StringMap<InitAttr> initOf;
  llvm::StringMap<dist::WindowAttr> windowOf;
  for (Operation &op : module.getOps()) {
    if (auto parameter = dyn_cast<ParameterOp>(op)) {
      initOf[parameter.getSymName()] = parameter.getInit();
      windowOf[parameter.getSymName()] = parameter.getWindowAttr();
      parts.variables.push_back({op.getLoc(), parameter.getSymNameAttr(), cast<RankedTensorType>(parameter.getType()),
                                 planir::VariableRole::Parameter, parameter.getSymNameAttr(), parameter.getInit()});
    } else if (auto state = dyn_cast<StateOp>(op)) {
      StringAttr parameter = state.getParameterAttr() ? state.getParameterAttr().getAttr() : StringAttr();
      InitAttr init;
      if (std::optional<APFloat> initial = state.getInitial())
        init = InitAttr::get(module.getContext(), initial->convertToDouble(), /*stddev=*/0);
      parts.variables.push_back({op.getLoc(), state.getSymNameAttr(), cast<RankedTensorType>(state.getType()),
                                 roleOf(state.getRole()), parameter, init, state.getTransient()});
    }
  }
  for (auto [i, variable] : llvm::enumerate(parts.variables)) {
    parts.variableIndex[variable.name] = i;
    if (variable.parameter)
      variable.window = windowOf.lookup(variable.parameter);
    if (variable.role == planir::VariableRole::Master) // a master copy starts as its parameter
      variable.init = initOf.lookup(variable.parameter);
  }
}

/// Buckets, and their members' places in them.
static LogicalResult findBuckets(ModuleOp module, ProgramParts &parts) {
  for (auto op : module.getOps<BucketOp>()) {
    const DeclaredVariable &first = parts.variable(cast<FlatSymbolRefAttr>(op.getMembers()[0]).getValue());
    DeclaredBucket &bucket = parts.buckets.emplace_back(
        DeclaredBucket{{op.getLoc(), op.getSymNameAttr(), cast<RankedTensorType>(op.getType()), first.role,
                        StringAttr(), InitAttr(), true},
                       op.getPieceAxes()});
    for (auto [member, offset] : llvm::zip_equal(op.getMembers().getAsRange<FlatSymbolRefAttr>(), op.getOffsets())) {
      DeclaredVariable &variable = parts.variables[parts.variableIndex.lookup(member.getValue())];
      if (variable.bucket)
        return op.emitOpError() << "C1: " << member << " is a member of '@" << variable.bucket->name.getValue()
                                << "' too";
      variable.bucket = &bucket;
      variable.offset = offset;
      parts.storage[variable.name] = bucket.name;
      bucket.isTransient &= variable.isTransient;
    }
  }
  return success();
}

/// The functions by phase: begin, micro-batch, update.
static LogicalResult findFunctions(ModuleOp module, ProgramParts &parts) {
  for (StringRef phase : {"begin", "micro_batch", "update"})
    for (auto function : module.getOps<func::FuncOp>())
      if (auto name = function->getAttrOfType<StringAttr>(phaseAttributeName); name && name.getValue() == phase) {
        parts.functions.push_back(function);
        if (phase == "micro_batch")
          parts.microBatch = function;
      }
  return parts.microBatch ? success() : module.emitError("has no function of phase 'micro_batch'");
}

/// "forward_0_to_1", or with chunks "forward_0.1_to_1.2".
static std::string channelName(dist::SendRecvOp op, dist::SegmentKind kind) {
  auto end = [](int64_t stage, int64_t chunk) {
    return std::to_string(stage) + (chunk == 0 ? "" : "." + std::to_string(chunk));
  };
  return dist::stringifySegmentKind(kind).str() + "_" + end(op.getFrom(), op.getFromChunk()) + "_to_" +
         end(op.getTo(), op.getToChunk());
}

static LogicalResult addMessage(dist::SendRecvOp op, llvm::StringMap<unsigned> &channels, ProgramParts &parts) {
  if (op.getOutput().use_empty())
    return success();
  auto sender = op.getInput().getDefiningOp<dist::SegmentOp>();
  if (!sender)
    return op.emitOpError("sends a value that no segment made");
  std::string name = channelName(op, sender.getKind());
  if (unsigned earlier = channels[name]++)
    name += "_" + std::to_string(earlier);
  parts.messages.push_back({op, sender, StringAttr::get(op.getContext(), name)});
  return success();
}

static LogicalResult addReports(func::FuncOp function, ProgramParts &parts) {
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto name = function.getResultAttrOfType<StringAttr>(i, "tgpt.name");
    auto reporter = value.getDefiningOp<dist::SegmentOp>();
    if (!name || !reporter)
      return function.emitOpError() << "result " << i << (name ? " is not made by a segment" : " has no 'tgpt.name'");
    parts.reports.push_back({value, reporter, name});
  }
  return success();
}

/// Segments, messages and results of the functions, which hold nothing else.
static LogicalResult findFlow(ProgramParts &parts) {
  llvm::StringMap<unsigned> channels;
  for (func::FuncOp function : parts.functions) {
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (auto segment = dyn_cast<dist::SegmentOp>(op))
        parts.segments.push_back(segment);
      else if (auto message = dyn_cast<dist::SendRecvOp>(op)) {
        if (failed(addMessage(message, channels, parts)))
          return failure();
      } else
        return op.emitOpError("is outside of the pipeline's segments; 'dist-split-stages' puts it into one");
    }
    if (failed(addReports(function, parts)))
      return failure();
  }
  return success();
}

static LogicalResult findSchedules(ModuleOp module, ProgramParts &parts) {
  parts.schedules.resize(parts.stageCount());
  for (auto schedule : module.getOps<dist::ScheduleOp>()) {
    if (static_cast<int64_t>(schedule.getStage()) >= parts.stageCount())
      return schedule.emitOpError() << "is for stage " << schedule.getStage() << ", but the mesh has "
                                    << parts.stageCount();
    if (parts.schedules[schedule.getStage()])
      return schedule.emitOpError() << "is a second schedule of stage " << schedule.getStage();
    parts.schedules[schedule.getStage()] = schedule;
  }
  for (auto [stage, schedule] : llvm::enumerate(parts.schedules))
    if (!schedule)
      return module.emitError() << "has no schedule for stage " << stage;
  return success();
}

/// Every segment of the micro-batch is scheduled, and weight_gradients only where there are
/// such segments; a forward or backward that is not there has nothing to do.
static LogicalResult checkSchedules(ProgramParts &parts) {
  using Key = std::tuple<int64_t, int64_t, dist::SegmentKind>; // stage, chunk, kind
  std::map<Key, dist::SegmentOp> segments;
  for (dist::SegmentOp segment : parts.segments) {
    if (segment.getKind() == dist::SegmentKind::Begin || segment.getKind() == dist::SegmentKind::Update)
      continue;
    segments[{segment.getStage(), segment.getChunk(), segment.getKind()}] = segment;
  }
  std::set<Key> scheduled;
  for (dist::ScheduleOp schedule : parts.schedules) {
    if (schedule.getMicroBatches() != parts.schedules.front().getMicroBatches())
      return schedule.emitOpError() << "is of " << schedule.getMicroBatches()
                                    << " micro-batches but that of stage 0 of "
                                    << parts.schedules.front().getMicroBatches();
    for (ArrayAttr list : schedule.getLists())
      for (StringRef text : list.getAsValueRange<StringAttr>()) {
        dist::ScheduledSegment entry = *dist::ScheduledSegment::parse(text); // checked by dist.schedule
        Key key{schedule.getStage(), entry.chunk, entry.kind};
        if (entry.kind == dist::SegmentKind::WeightGradient && !segments.count(key))
          return schedule.emitOpError() << "entry \"" << text << "\" has no " << dist::stringifySegmentKind(entry.kind)
                                        << " segment of " << dist::virtualStageText(schedule.getStage(), entry.chunk);
        scheduled.insert(key);
      }
  }
  for (auto &[key, segment] : segments)
    if (!scheduled.count(key))
      return segment.emitOpError() << "of kind '" << dist::stringifySegmentKind(std::get<2>(key)) << "' of "
                                   << dist::virtualStageText(std::get<0>(key), std::get<1>(key))
                                   << " has no entry in the stage's schedule";
  return success();
}

/// Each chunk of a stage takes the host's values for itself: its slots are its own. So the
/// arguments are there once a chunk.
static void separateInputs(func::FuncOp function) {
  Block &body = function.getBody().front();
  std::map<int64_t, SmallVector<dist::SegmentOp>> ofChunk;
  for (auto segment : body.getOps<dist::SegmentOp>())
    if (segment.getChunk() > 0)
      ofChunk[segment.getChunk()].push_back(segment);
  unsigned count = function.getNumArguments();
  for (auto &[chunk, segments] : ofChunk)
    for (unsigned i = 0; i < count; ++i) {
      BlockArgument argument = body.getArgument(i);
      auto isHere = [&, &segments = segments](OpOperand &use) {
        return llvm::is_contained(segments, use.getOwner()->getParentOfType<dist::SegmentOp>());
      };
      if (llvm::none_of(argument.getUses(), isHere))
        continue;
      unsigned added = function.getNumArguments();
      (void)function.insertArgument(added, argument.getType(), function.getArgAttrDict(i), argument.getLoc());
      argument.replaceUsesWithIf(body.getArgument(added), isHere);
    }
}

FailureOr<ProgramParts> tgpt::findProgramParts(ModuleOp module) {
  ProgramParts parts;
  auto meshes = module.getOps<dist::MeshOp>();
  if (meshes.empty())
    return module.emitError("has no dist.mesh");
  parts.mesh = *meshes.begin();
  findVariables(module, parts);
  if (failed(findBuckets(module, parts)) || failed(findFunctions(module, parts)) || failed(findFlow(parts)) ||
      failed(findSchedules(module, parts)) || failed(checkSchedules(parts)))
    return failure();
  separateInputs(parts.microBatch);
  return parts;
}
