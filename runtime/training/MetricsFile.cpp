//===- runtime/training/MetricsFile.cpp - a JSON line per step --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/MetricsFile.h"

#include "runtime/files/AtomicFile.h"
#include "runtime/plan/Error.h"

#include <nlohmann/json.hpp>
#include <string>

using namespace tgpt::runtime;
namespace fs = std::filesystem;

/// The lines of steps before `firstStep`: what a resumed run keeps.
static std::string linesBefore(const fs::path &path, int64_t firstStep) {
  std::ifstream in(path);
  std::string kept;
  for (std::string line; std::getline(in, line);) {
    nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    bool isStep = json.is_object() && json.contains("step") && json["step"].is_number_integer();
    if (isStep && json["step"].get<int64_t>() < firstStep)
      kept += line + "\n";
  }
  return kept;
}

MetricsFile::MetricsFile(fs::path where, int64_t firstStep) : path(std::move(where)) {
  if (firstStep > 1 && fs::exists(path))
    writeTextAtomically(path, linesBefore(path, firstStep));
  file.open(path, firstStep > 1 ? std::ios::app : std::ios::trunc);
  if (!file)
    throw Error("cannot write metrics to '" + path.string() + "'");
}

void MetricsFile::write(const StepReport &report) {
  nlohmann::ordered_json line = {{"step", report.step},
                                 {"loss", report.loss},
                                 {"grad_norm", report.gradNorm},
                                 {"lr", report.learningRate},
                                 {"tokens", report.tokensSeen},
                                 {"tokens_per_second", report.tokensPerSecond},
                                 {"step_seconds", report.stepSeconds},
                                 {"flops_share", report.flopsShare}};
  if (report.lossScale > 0) {
    line["loss_scale"] = report.lossScale;
    line["skipped_steps"] = report.skippedSteps;
  }
  writeLine(line.dump());
}

static nlohmann::ordered_json lineOf(const RanksAtPosition &group, int64_t step) {
  const RankPosition &at = group.position;
  nlohmann::ordered_json line = {
      {"failed_step", step},          {"ranks", group.ranks}, {"communication", at.isCommunication},
      {"state", stateText(at.state)}, {"stage", at.stage},    {"entry", at.entry},
      {"entries", at.entries},        {"segment", at.segment}};
  if (at.microBatch >= 0)
    line["micro_batch"] = at.microBatch;
  if (at.instruction >= 0) {
    line["instruction"] = at.instruction;
    line["opcode"] = at.opcode;
    line["location"] = at.location;
  }
  if (at.state == RankPosition::State::Waiting) {
    line["waits_on"] = at.waitsOn;
    line["missing"] = at.missing;
  }
  return line;
}

void MetricsFile::write(const JobFailure &failure, int64_t step) {
  bool isStuck = failure.kind() == JobFailure::Kind::Stuck;
  nlohmann::ordered_json line = {
      {"failed_step", step}, {"failure", isStuck ? "stuck" : "rank failed"}, {"error", failure.what()}};
  writeLine(line.dump());
  for (const RanksAtPosition &group : groupedByPlace(failure.positions()))
    writeLine(lineOf(group, step).dump());
}

void MetricsFile::writeLine(const std::string &line) {
  file << line << std::endl;
  if (!file)
    throw Error("cannot write metrics to '" + path.string() + "'");
}
