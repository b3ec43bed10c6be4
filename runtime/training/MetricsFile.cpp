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
  file << line.dump() << std::endl;
  if (!file)
    throw Error("cannot write metrics to '" + path.string() + "'");
}
