//===- ChooseStages.cpp - decide which layers a pipeline stage has ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where is the model cut? Writes the answer on the module: the cut whose slowest stage
// is fastest, of those that fit each rank's memory.
//
//   module {...}   ->   module attributes {dist.stages = array<i64: 3, 4, 3>} {...}
//
// LayerCosts.h says what layers cost, StageCut.h how the cut is found. A decision that is
// there already, or given by hand, is checked and kept.
//
// Relies on: a mesh, local types, and tgpt.layer on the ops of the micro-batch. Leaves
// true: the attribute names a legal cut.
//
//===----------------------------------------------------------------------===//

#include "cost/DeviceText.h"
#include "cost/cluster/TopologyText.h"
#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/Remarks.h"
#include "passes/pipeline/LayerCosts.h"
#include "passes/pipeline/MicroBatchesInFlight.h"
#include "passes/pipeline/Passes.h"
#include "passes/pipeline/StageAdvice.h"
#include "passes/pipeline/StageLayers.h"
#include "passes/pipeline/StageReport.h"
#include "passes/pipeline/schedule/Schedule.h"

namespace tgpt {
#define GEN_PASS_DEF_CHOOSESTAGES
#include "passes/pipeline/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

static std::string listText(ArrayRef<int64_t> numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

namespace {
struct ChooseStages : tgpt::impl::ChooseStagesBase<ChooseStages> {
  using ChooseStagesBase::ChooseStagesBase;

  void runOnOperation() override {
    module = getOperation();
    microBatch = findPhase(module, "micro_batch");
    if (!microBatch || microBatch.isDeclaration()) {
      module.emitError("module has no function with tgpt.phase \"micro_batch\"");
      return signalPassFailure();
    }
    FailureOr<int64_t> count = countStages(module);
    if (failed(count))
      return signalPassFailure();
    stageCount = *count;
    layerCount = countLayers(microBatch);
    if (failed(checkOptions()) || failed(decide()))
      signalPassFailure();
  }

private:
  LogicalResult checkOptions() {
    auto fail = [&](StringRef name, const Twine &value, const Twine &expected) {
      return module.emitError() << "option '" << name << "' is " << value << ", expected " << expected;
    };
    if (microBatches < 1 || microBatches > (1 << 20))
      return fail("micro-batches", Twine(microBatches), "1 to 1048576");
    if (memoryLimitBytes < 0)
      return fail("memory-limit-bytes", Twine(memoryLimitBytes), "0 for no limit, or a number of bytes");
    if (zero < 0 || zero > 3)
      return fail("zero", Twine(zero), "0 to 3");
    if (zeroPrefetch < 0)
      return fail("zero-prefetch", Twine(zeroPrefetch), "0 or more");
    std::optional<ScheduleKind> given = parseScheduleKind(schedule.getValue());
    if (!given)
      return fail("schedule", "'" + Twine(schedule.getValue()) + "'", "gpipe, 1f1b or zero-bubble");
    kind = *given;
    if (chunks < 1 || stageCount > mostVirtualStages || chunks > mostVirtualStages / stageCount)
      return module.emitError() << "mesh axis 'pp' is " << stageCount << " with " << chunks.getValue()
                                << " chunks a stage; legal are 1 chunk or more, and at most " << mostVirtualStages
                                << " virtual stages";
    assumptions = {cost::defaultDevice(), zero,    zeroPrefetch,         kind == ScheduleKind::ZeroBubble,
                   std::nullopt,          overlap, productWorkspaceBytes};
    std::string error;
    if (!device.empty()) {
      std::optional<cost::DeviceProfile> parsed = cost::parseDevice(device, error);
      if (!parsed)
        return module.emitError() << "option 'device': " << error;
      assumptions.device = *parsed;
    }
    if (!links.empty()) {
      assumptions.links = cost::parseTopology(links, error);
      if (!assumptions.links)
        return module.emitError() << "option 'links': " << error;
    }
    return success();
  }

  /// The cut that the module has, or that was given; none where it is to be chosen.
  FailureOr<std::optional<SmallVector<int64_t>>> givenCut() {
    SmallVector<int64_t> cut(stages.begin(), stages.end());
    if (stages.empty() && module->hasAttr(stagesAttributeName)) {
      FailureOr<StageLayers> kept = readStages(module, stageCount, layerCount);
      if (failed(kept))
        return failure();
      ++decisionsKept;
      cut = kept->layersOf;
    } else if (stages.empty() && stageCount * chunks > 1) {
      return std::optional<SmallVector<int64_t>>();
    } else if (stages.empty()) {
      cut.push_back(layerCount);
    }
    int64_t given = cut.size(), expected = stageCount * chunks;
    if (failed(checkStages(cut, stageCount, layerCount, [&] { return module.emitError(); })))
      return failure();
    if (chunks == 1 || given == expected)
      return std::optional(cut);
    return module.emitError() << "layers are given for " << given << " virtual stages but " << chunks.getValue()
                              << " chunks of " << stageCount << " stages are " << expected;
  }

  LogicalResult decide() {
    FailureOr<std::optional<SmallVector<int64_t>>> given = givenCut();
    if (failed(given))
      return failure();
    if (*given && memoryLimitBytes == 0 && !report) { // costs are of no use
      write(**given);
      return success();
    }
    int64_t chunkCount = *given ? static_cast<int64_t>((*given)->size()) / stageCount : chunks.getValue();
    FailureOr<StageProblem> problem = problemOf(assumptions, chunkCount);
    if (failed(problem))
      return failure();
    StageCut cut = *given ? cutByHand(*problem, {(*given)->begin(), (*given)->end()}) : chooseCutWithRoom(*problem);
    if (!cut.fits(*problem))
      return reportMisfit(*problem, cut, /*isGiven=*/given->has_value());
    explain(*problem, cut);
    write(cut.layers);
    return checkStages(cut.layers, stageCount, layerCount, [&] { return module.emitError(); });
  }

  void write(ArrayRef<int64_t> cut) {
    auto attribute = DenseI64ArrayAttr::get(&getContext(), cut);
    if (module->getAttr(stagesAttributeName) == attribute)
      return;
    module->setAttr(stagesAttributeName, attribute);
    ++decisionsMade;
  }

  FailureOr<StageProblem> problemOf(const CostAssumptions &assumed, int64_t chunkCount) {
    FailureOr<StageProblem> problem = costsOfLayers(module, microBatch, layerCount, assumed);
    if (failed(problem))
      return failure();
    problem->stages = stageCount;
    problem->chunks = chunkCount;
    problem->inFlight = countInFlight(kind, stageCount, chunkCount, microBatches);
    problem->limitBytes = memoryLimitBytes;
    return problem;
  }

  LogicalResult reportMisfit(const StageProblem &problem, const StageCut &closest, bool isGiven) {
    InFlightDiagnostic error = module.emitError();
    if (isGiven)
      error << "the cut " << listText(closest.layers) << " does not fit: ";
    else
      error << "no cut of " << layerCount << " layers into " << stageCount << " stages"
            << (problem.chunks > 1 ? " of " + std::to_string(problem.chunks) + " chunks" : "")
            << (closest.isProven ? " fits" : " was found that fits") << ": the closest, " << listText(closest.layers)
            << ", does not, ";
    error << misfitText(problem, closest);
    OtherProblems others;
    others.zero = zero;
    others.inFlight = [&](int64_t count) { return countInFlight(kind, count, problem.chunks, microBatches); };
    dist::MeshOp mesh = *module.getOps<dist::MeshOp>().begin();
    bool isModest = double(closest.greatestBytes()) * double(stageCount) < 0x1p56; // so that these have costs too
    if (mesh.sizeOf("dp") > 1 && isModest)
      others.withZero = [&](int64_t otherZero) {
        CostAssumptions assumed = assumptions;
        assumed.zero = otherZero;
        return *problemOf(assumed, problem.chunks);
      };
    error.attachNote() << "each of these alone would do: " << adviceText(problem, closest, others);
    return error;
  }

  void explain(const StageProblem &problem, const StageCut &cut) {
    StageSummary summary = {assumptions.device.name,          problem.limitBytes,
                            leastNanoseconds(problem),        problem.meanNanoseconds(),
                            problem.longestPartNanoseconds(), cut,
                            problem.inFlight.slots,           assumptions.links.has_value()};
    if (report)
      writeStageReport(module, summary);
    Location where = microBatch.getLoc();
    auto whole = remark::RemarkOpts::name("cut").category("dist-choose-stages");
    remark::analysis(where, whole) << remark::metric("slowestNanoseconds", cut.greatestNanoseconds())
                                   << remark::metric("leastNanoseconds", summary.leastNanoseconds)
                                   << remark::metric("meanNanoseconds", summary.meanNanoseconds)
                                   << remark::metric("longestPartNanoseconds", summary.longestPartNanoseconds)
                                   << remark::metric("limitBytes", problem.limitBytes);
    auto part = remark::RemarkOpts::name("stage").category("dist-choose-stages");
    for (auto [stage, rank] : llvm::enumerate(cut.ranks))
      remark::analysis(where, part) << remark::metric("stage", stage)
                                    << remark::metric("layers", ofChunks(cut.layers, stage, stageCount))
                                    << remark::metric("nanoseconds", rank.nanoseconds())
                                    << remark::metric("bytes", rank.bytes());
  }

  ModuleOp module;
  func::FuncOp microBatch;
  int64_t stageCount = 1, layerCount = 0;
  ScheduleKind kind = ScheduleKind::OneForwardOneBackward;
  CostAssumptions assumptions;
};
} // namespace
