//===- PlanComparison.cpp - the formulas beside the plan, line by line ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/ledger/PlanComparison.h"
#include "compiler/ledger/PlanFacts.h"
#include "runtime/plan/BufferExtent.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

using namespace tgpt;
using cost::Execution;
using cost::ModelShape;

void ComparedPart::because(const std::string &reason, double bytes) {
  if (std::abs(bytes) >= 0.5)
    lines.push_back({reason, bytes});
}

double ComparedPart::unexplainedBytes() const {
  double rest = planBytes - formulaBytes;
  for (const DifferenceLine &line : lines)
    rest -= line.bytes;
  return rest;
}

double ComparedStage::formulaBytes() const {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const ComparedPart &part) { return sum + part.formulaBytes; });
}

double ComparedStage::planBytes() const {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const ComparedPart &part) { return sum + part.planBytes; });
}

LedgerRequest tgpt::requestOfPlan(const LedgerRequest &request, const plan::Plan &plan) {
  LedgerRequest adapted = request;
  const plan::TrainingShape &training = plan.training();
  adapted.run = executionOf(plan);
  adapted.shape.sequence = static_cast<double>(training.sequence_length());
  if (adapted.shape.learnedPositions > 0)
    adapted.shape.learnedPositions = adapted.shape.sequence;
  if (adapted.shape.parameters() != static_cast<double>(training.model_parameters()))
    throw std::runtime_error("the plan is of '" + plan.model_name() + "' with " +
                             std::to_string(training.model_parameters()) + " parameters, but '" + request.model +
                             "' has " + std::to_string(std::llround(adapted.shape.parameters())));
  return adapted;
}

namespace {

/// Compares one stage; the formulas are asked with what the plan decided where that is a line of its own.
class StageComparison {
public:
  StageComparison(const LedgerRequest &request, const plan::Plan &plan, const StageMemoryReport &report)
      : request(request), plan(plan), report(report), shape(request.shape), run(request.run),
        stage(static_cast<double>(report.stage)),
        formula(cost::rankMemory(request.shape, request.run, request.states, static_cast<double>(report.stage))),
        chunkLayers(layersOfChunks(*report.program)) {
    ModelShape without = shape;
    without.layers = 0;
    Execution single = run;
    single.pp = 1;
    layerParameters =
        (cost::stageParameters(shape, single, 0) - cost::stageParameters(without, single, 0)) / shape.layers;
    formulaParameters = cost::stageParameters(shape, run, stage);
    double bytes = static_cast<double>(runtime::elementBytes(plan.training().compute_dtype()));
    elementBytes = bytes > 0 ? bytes : 2;
  }

  ComparedStage compare() { return {report.stage, {parameters(), gradients(), optimizer(), activations(), working()}}; }

private:
  double planBytes(MemoryCategory category) const { return static_cast<double>(report.of(category).bytes); }
  double layersHere() const { return std::accumulate(chunkLayers.begin(), chunkLayers.end(), 0.0); }

  /// What the formula holds of `parameters` elements under ZeRO from stage `from` on.
  double pieceOf(double parameters, int from) const { return parameters / (run.zero >= from ? run.shardRanks() : 1); }

  /// The lines that weights, gradients and states have in common. The formula counts `formulaElementBytes`.
  void explainState(ComparedPart &part, const StateFacts &facts, int from, double formulaElementBytes) const {
    double bytes = facts.elementBytes;
    part.because("elements of " + std::to_string(std::lround(bytes)) + " bytes, the formula has " +
                     std::to_string(std::lround(formulaElementBytes)),
                 (bytes - formulaElementBytes) * pieceOf(formulaParameters, from));
    double formulaLayers = cost::layersOfStage(shape, run, stage), layers = layersHere();
    part.because(std::to_string(std::lround(layers)) + " layers on this stage, the formula has " +
                     std::to_string(std::lround(formulaLayers)),
                 bytes * pieceOf((layers - formulaLayers) * layerParameters, from));
    if (stage == 0 && run.sequenceParallel)
      part.because("learned positions are cut over tp, as the sequence is",
                   -bytes * pieceOf(shape.learnedPositions * shape.hidden * (1 - 1 / run.tp), from));
    part.because("the vocabulary is padded so that tp divides it", bytes * facts.vocabularyPadding);
    part.because("buckets are padded so that dp divides them", bytes * facts.bucketPadding);
  }

  ComparedPart parameters() const {
    ComparedPart part = {"parameters", formula.parameterBytes, planBytes(MemoryCategory::Parameters), {}};
    StateFacts facts = stateFactsOf(plan, *report.program, plan::Variable::PARAMETER);
    explainState(part, facts, 3, request.states.parameter);
    part.because("alignment", part.planBytes - facts.elementBytes * facts.elements);
    return part;
  }

  ComparedPart gradients() const {
    ComparedPart part = {"gradients", formula.gradientBytes, planBytes(MemoryCategory::Gradients), {}};
    StateFacts facts = stateFactsOf(plan, *report.program, plan::Variable::GRADIENT);
    bool areWhole = optionOf(plan, "reduction", "fast") == "canonical" && run.zero >= 2 && run.microBatches > 1;
    double metrics = scalarBytesOf(*report.program, plan::Variable::METRIC);
    if (areWhole)
      part.because("canonical reduction sums whole gradients before it shares them out",
                   request.states.gradient * (formulaParameters - pieceOf(formulaParameters, 2)));
    explainState(part, facts, areWhole ? 4 : 2, request.states.gradient);
    part.because("further sums of canonical reduction", facts.furtherBytes);
    part.because("metrics", metrics);
    part.because("alignment", part.planBytes - facts.elementBytes * facts.elements - facts.furtherBytes - metrics);
    return part;
  }

  ComparedPart optimizer() const {
    ComparedPart part = {"optimizer", formula.optimizerBytes, planBytes(MemoryCategory::Optimizer), {}};
    StateFacts all = stateFactsOf(plan, *report.program, plan::Variable::MOMENT1);
    StateFacts master = stateFactsOf(plan, *report.program, plan::Variable::MASTER);
    double scaling = scalarBytesOf(*report.program, plan::Variable::SCALING);
    all.elementBytes = 2 * all.elementBytes + master.elementBytes;
    explainState(part, all, 1, request.states.optimizer());
    part.because("loss scale", scaling);
    part.because("alignment", part.planBytes - all.elementBytes * all.elements - scaling);
    return part;
  }

  /// Layers' worth of what the slots hold, if each slot holds its chunk's layers.
  double layersInSlots() const {
    double layers = 0;
    for (size_t chunk = 0; chunk < chunkLayers.size(); ++chunk)
      layers += static_cast<double>(slotsOf(static_cast<int64_t>(chunk))) * chunkLayers[chunk];
    return layers;
  }

  /// Dropout keeps no masks, but what they are drawn from.
  bool drawsMasks() const {
    const auto &buffers = report.program->buffers();
    return std::any_of(buffers.begin(), buffers.end(),
                       [](const plan::Buffer &buffer) { return buffer.name() == "samples"; });
  }

  /// Of chunks with layers.
  double slotsOfLayers() const {
    int64_t slots = 0;
    for (size_t chunk = 0; chunk < chunkLayers.size(); ++chunk)
      slots += chunkLayers[chunk] > 0 ? slotsOf(static_cast<int64_t>(chunk)) : 0;
    return static_cast<double>(slots);
  }

  int64_t slotsOf(int64_t chunk) const {
    for (const plan::Region &region : report.program->regions())
      if (region.kind() == plan::Region::ACTIVATIONS && region.chunk() == chunk)
        return slotsHeld(*report.program, region);
    return 0;
  }

  /// What the slots would hold if what lies in pages lay in them.
  double keptBytes() const {
    int64_t kept = 0;
    for (int region = 0; region < report.program->regions_size(); ++region)
      if (runtime::isOfMicroBatch(report.program->regions(region).kind()))
        kept += slotsOf(report.program->regions(region).chunk()) * report.liveness.slotPeakBytes(region);
    return static_cast<double>(kept);
  }

  /// What pages take, beyond what they would as parts of slots.
  double pageBytes() const {
    if (report.lotBytes > 0)
      return static_cast<double>(report.lotBytes) - keptBytes();
    int64_t bytes = report.pages.count * report.pages.bytes + report.leaves.count * report.leaves.bytes;
    for (int region = 0; region < report.program->regions_size(); ++region)
      if (runtime::isPaged(report.program->regions(region).kind()))
        bytes -= slotsOf(report.program->regions(region).chunk()) * report.liveness.slotPeakBytes(region);
    return static_cast<double>(bytes);
  }

  /// What a layer of the plan keeps that the formula does not count, or the other way round; `bytes` an element.
  void explainLayer(ComparedPart &part, double bytes, double layers) const {
    double tokens = run.microBatch * shape.sequence, whole = run.sequenceParallel ? run.tp : 1;
    bool keepsAll = run.recompute == cost::Recompute::None;
    double statistics = std::max(4.0, bytes); // f32, of f64 runs f64
    part.because("row statistics of the norms",
                 keepsAll ? layers * statistics * tokens * 2 * (shape.layerNorm ? 2 : 1) / whole : 0);
    if (keepsAll && run.fusedAttention)
      part.because("logarithms of attention's rows in f64", layers * (statistics - 4) * tokens * shape.heads / run.tp);
    if (shape.dropout && run.recompute != cost::Recompute::Full)
      part.because("dropout's masks are drawn again", -layers * tokens * 2 * shape.hidden / whole);
    if (drawsMasks())
      part.because("samples and step, which masks are drawn from", slotsOfLayers() * 4 * (run.microBatch + 1));
  }

  ComparedPart activations() const {
    ComparedPart part = {"activations", formula.activationBytes, planBytes(MemoryCategory::Activations), {}};
    double layer = cost::layerActivationBytes(shape, run), inFlight = cost::layersInFlight(shape, run, stage);
    double tokens = run.microBatch * shape.sequence;
    bool hasRows = run.recompute == cost::Recompute::None && run.fusedAttention;
    double rows = hasRows ? 4 * tokens * shape.heads / run.tp : 0;
    double masks = shape.dropout && run.recompute != cost::Recompute::Full
                       ? tokens * 2 * shape.hidden / (run.sequenceParallel ? run.tp : 1)
                       : 0;
    double wider = (elementBytes / 2 - 1) * (layer - rows - masks);
    part.because("elements of " + std::to_string(std::lround(elementBytes)) + " bytes, the formula has 2",
                 inFlight * wider);
    double layers = layersInSlots();
    part.because(std::to_string(std::lround(layers)) + " layers in slots, the formula has " +
                     std::to_string(std::lround(inFlight)) + " in flight",
                 (layers - inFlight) * (layer + wider));
    explainLayer(part, elementBytes, layers);
    part.because("micro-batches take pages in turn, where slots of their own would not be full at once", pageBytes());
    double holes = part.planBytes - keptBytes() - pageBytes(), rest = part.unexplainedBytes() - holes;
    if (run.schedule == cost::Schedule::ZeroBubbleH1)
      part.because("what waits for the weight gradients, and embedding, final norm, head and loss", rest);
    else if (stage == 0 || stage == run.pp - 1)
      part.because("embedding, final norm, head and loss", rest);
    part.because("alignment in slots", holes);
    return part;
  }

  /// The formula knows one moment; the plan has all of them.
  ComparedPart working() const {
    double scratch = planBytes(MemoryCategory::Scratch), messages = planBytes(MemoryCategory::Communication);
    double workspace = planBytes(MemoryCategory::Workspace);
    ComparedPart part = {"at work", formula.workingBytes, scratch + messages + workspace, {}};
    part.because(stage == run.pp - 1 ? "no logits in f32 and no gradient of them beside: it overwrites the logits, "
                                       "which lie in the slots"
                                     : "no estimate of the fullest moment",
                 -formula.workingBytes);
    part.because("what the fullest segment needs beyond the room that its slot has free", scratch);
    part.because("messages between stages", messages);
    part.because("the workspace of kernels", workspace);
    return part;
  }

  const LedgerRequest &request;
  const plan::Plan &plan;
  const StageMemoryReport &report;
  const ModelShape &shape;
  const Execution &run;
  double stage;
  cost::RankMemory formula;
  std::vector<double> chunkLayers;
  double layerParameters = 0, formulaParameters = 0, elementBytes = 2;
};

} // namespace

std::vector<ComparedStage> tgpt::comparisonOf(const LedgerRequest &request, const MemoryReport &report) {
  std::vector<ComparedStage> stages;
  for (const StageMemoryReport &stage : report.stages)
    stages.push_back(StageComparison(request, *report.plan, stage).compare());
  return stages;
}
