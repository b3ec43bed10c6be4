//===- StageReport.cpp - a cut and its costs, as an attribute ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageReport.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tgpt;

void tgpt::writeStageReport(ModuleOp module, const StageSummary &summary) {
  Builder builder(module.getContext());
  NamedAttrList report;
  report.set("device", builder.getStringAttr(summary.device));
  report.set("limit_bytes", builder.getI64IntegerAttr(summary.limitBytes));
  report.set("least_nanoseconds", builder.getI64IntegerAttr(summary.leastNanoseconds));
  report.set("mean_nanoseconds", builder.getI64IntegerAttr(summary.meanNanoseconds));
  report.set("longest_part_nanoseconds", builder.getI64IntegerAttr(summary.longestPartNanoseconds));
  report.set("layers", builder.getDenseI64ArrayAttr(summary.cut.layers));
  report.set("slots", builder.getDenseI64ArrayAttr(summary.slots));
  if (summary.countsCollectives)
    report.set("counts_collectives", builder.getUnitAttr());
  for (const RankFigure &figure : rankFigures()) {
    SmallVector<int64_t> ofRanks;
    for (RankCost rank : summary.cut.ranks)
      ofRanks.push_back(figure.of(rank));
    report.set(figure.name, builder.getDenseI64ArrayAttr(ofRanks));
  }
  module->setAttr(stageReportAttributeName, report.getDictionary(module.getContext()));
}

std::optional<StageSummary> tgpt::readStageReport(ModuleOp module) {
  auto report = module->getAttrOfType<DictionaryAttr>(stageReportAttributeName);
  if (!report)
    return std::nullopt;
  auto number = [&](StringRef name) { return report.getAs<IntegerAttr>(name); };
  auto list = [&](StringRef name) { return report.getAs<DenseI64ArrayAttr>(name); };
  auto device = report.getAs<StringAttr>("device");
  auto limit = number("limit_bytes"), least = number("least_nanoseconds"), mean = number("mean_nanoseconds"),
       longest = number("longest_part_nanoseconds");
  auto layers = list("layers"), slots = list("slots");
  if (!device || !limit || !least || !mean || !longest || !layers || !slots || layers.size() != slots.size())
    return std::nullopt;
  StageSummary summary = {device.str(), limit.getInt(), least.getInt(), mean.getInt(), longest.getInt(), {}, {}};
  summary.cut.layers.assign(layers.asArrayRef().begin(), layers.asArrayRef().end());
  summary.countsCollectives = report.contains("counts_collectives");
  summary.slots.assign(slots.asArrayRef().begin(), slots.asArrayRef().end());
  for (const RankFigure &figure : rankFigures()) {
    auto ofRanks = list(figure.name);
    if (!ofRanks || ofRanks.empty() || layers.size() % ofRanks.size() != 0)
      return std::nullopt;
    summary.cut.ranks.resize(ofRanks.size());
    for (auto [rank, value] : llvm::zip_equal(summary.cut.ranks, ofRanks.asArrayRef()))
      figure.of(rank) = value;
  }
  return summary;
}
