//===- tools/tgpt-plan/SearchCommand.cpp - tgpt-plan MODEL --cluster=FILE ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/tgpt-plan/SearchCommand.h"
#include "compiler/planner/PlannerText.h"
#include "cost/cluster/ClusterFile.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/sim/Simulate.h"

#include <filesystem>
#include <iostream>
#include <unistd.h>

using namespace tgpt;

static constexpr const char *searchExamples = R"(
Examples:
  tgpt-plan model.mlir --cluster=recipes/clusters/dgx-h100.yaml --gpus=64 --global-batch=512
  tgpt-plan recipes/models/llama3-70b.yaml --cluster=recipes/clusters/dgx-h100.yaml --gpus=64 --global-batch=512 --compare=tp=16
  tgpt-plan model.mlir --cluster=c.yaml --gpus=16 --global-batch=64 --tp=8 --recompute=none -o compiled.bin

Every choice of tp, sp, pp, vpp, schedule, dp, zero, recompute, micro-batch and rank order is ranked by closed forms; the
best few are compiled, and their steps simulated. The commands of tgpt-opt that make each plan are printed.
)";

void tgpt::addSearchOptions(CLI::App &app, SearchFlags &flags) {
  PlannerRequest &request = flags.request;
  app.footer(searchExamples);
  app.add_option("model", request.modelPath, "model (.mlir, .mlirbc) or recipe (.yaml)")->type_name("MODEL");
  app.option_defaults()->group("Search");
  app.add_option("--cluster", request.clusterPath, "cluster file (recipes/clusters)")->type_name("FILE");
  app.add_option("--global-batch", flags.globalBatch, "sequences of a step");
  app.add_option("--gpus", request.gpus, "ranks (default: as many as the cluster has)");
  app.add_option("--dtype", request.dtype, "compute dtype: bf16, f16 or f32")->capture_default_str();
  app.add_option("--memory-gib", request.memoryGib, "GiB that a rank's arena may take (default: what the device has)");
  app.option_defaults()->group("Choices that are not up to the search");
  for (const search::PinField &field : search::pinFields())
    app.add_option(std::string("--") + field.name, flags.pins[field.name],
                   std::string(field.meaning) + ": " + field.accepted)
        ->type_name("CHOICE");
  app.option_defaults()->group("Report");
  app.add_option("--compare", flags.compare, "choices to put beside the winner: tp=16,pp=1")->type_name("CHOICES");
  app.add_option("--top", request.top, "rows of the table")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--exact", request.exact, "plans to compile and simulate")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  app.add_option("-o", flags.output, "write the best plan")->type_name("FILE");
  app.add_option("--format", flags.format, "text or json")->capture_default_str();
  app.add_flag("--json", flags.json, "the same as --format=json");
  app.add_flag("--quiet", flags.quiet, "no progress on stderr");
}

/// Nobody waits for a search to learn that its plan can't be written, or that it would take the model's place.
static void checkOutput(const SearchFlags &flags) {
  std::filesystem::path file = flags.output, folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code ignored;
  auto refuse = [&](const std::string &why) { throw PlannerError("-o '" + flags.output + "': " + why); };
  if (!std::filesystem::is_directory(folder, ignored))
    refuse("there is no folder '" + folder.string() + "'");
  if (std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored))
    refuse(std::filesystem::is_directory(file, ignored) ? "it is a directory, expected a file name"
                                                        : "it is not a regular file");
  for (const std::string &input : {flags.request.modelPath, flags.request.clusterPath})
    if (std::filesystem::equivalent(file, input, ignored))
      refuse("it is the file that is read");
}

static PlannerRequest requestOf(const SearchFlags &flags) {
  PlannerRequest request = flags.request;
  if (request.clusterPath.empty())
    throw PlannerError("--cluster is missing; recipes/clusters has some");
  if (!flags.globalBatch)
    throw PlannerError("--global-batch is missing: the sequences of a step");
  request.globalBatch = *flags.globalBatch;
  if (flags.format != "text" && flags.format != "json")
    throw PlannerError("--format is '" + flags.format + "', expected text or json");
  if (!flags.output.empty() && request.exact == 0)
    throw PlannerError("--exact is 0, but -o writes a compiled plan; the nearest legal value is --exact=1");
  if (!flags.output.empty())
    checkOutput(flags);
  for (const auto &[name, text] : flags.pins)
    if (!text.empty())
      try {
        setPin(request.pins, name, text);
      } catch (const search::PinError &error) {
        throw PlannerError(std::string("--") + error.what());
      }
  if (flags.compare)
    try {
      request.compare = search::parsePins(*flags.compare);
    } catch (const search::PinError &error) {
      throw PlannerError(std::string("--compare: ") + error.what());
    }
  return request;
}

static SimulatePlan simulatorOf(const PlannerRequest &request) {
  return [cluster = cost::readClusterFile(request.clusterPath)](const plan::Plan &plan) {
    runtime::sim::SimulatedStep step = runtime::sim::simulate(plan, cluster);
    using runtime::sim::Traffic;
    double exposed =
        step.meanExposed(Traffic::Tensor) + step.meanExposed(Traffic::Data) + step.meanExposed(Traffic::Pipeline);
    return SimulatedTimes{step.seconds, step.modelFlopsShare, step.bubble(), exposed};
  };
}

bool tgpt::runSearch(SearchFlags flags) {
  PlannerRequest request = requestOf(flags);
  bool showsProgress = !flags.quiet && isatty(STDERR_FILENO);
  auto progress = [&](const std::string &what, double share) {
    if (showsProgress)
      std::cerr << "\r\033[K" << what << ", " << static_cast<int>(100 * share) << "%" << std::flush;
  };
  PlannerReport report = makePlans(request, simulatorOf(request), progress);
  if (showsProgress)
    std::cerr << "\r\033[K" << std::flush;
  bool fits = !report.rows.empty();
  const CompiledPlan *best = fits && report.rows.front().compiled ? &*report.rows.front().compiled : nullptr;
  if (!flags.output.empty() && best)
    runtime::savePlan(best->plan, flags.output);
  std::cout << (flags.json || flags.format == "json" ? plannerJson(report) : plannerText(report));
  if (fits && !flags.output.empty() && !best)
    throw PlannerError("none of the best plans compiles, so '" + flags.output + "' is not written");
  return fits;
}
