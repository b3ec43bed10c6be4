//===- test/e2e/Comparison.cpp - what training left behind, compared -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/e2e/Comparison.h"

#include "runtime/plan/Error.h"

#include <cstdio>

using namespace tgpt;
using namespace tgpt::runtime;

using Role = plan::Variable::Role;

/// Canonical reduction keeps the uses of a tied weight apart (`.use.1`): their sum is the
/// gradient. What waits for other micro-batches (`.carry.0`) holds nothing after a step.
static Snapshot snapshotOf(const Job &job, const StepMetrics &metrics) {
  Snapshot snapshot{metrics.loss, metrics.gradNorm, metrics.tokenCount, {}};
  double lossScale = std::isnan(metrics.value("loss_scale")) ? 1 : metrics.value("loss_scale");
  for (const std::string &name : job.variableNames()) {
    Role role = job.variable(name).role();
    if (role == plan::Variable::SCALING || name.find(".carry.") != std::string::npos)
      continue; // not of the model
    Values values = valuesOf(job.readVariable(name));
    auto [entry, isNew] = snapshot.variables.try_emplace(name.substr(0, name.find(".use.")));
    entry->second.role = role;
    entry->second.values.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i)
      entry->second.values[i] += role == plan::Variable::GRADIENT ? values[i] / lossScale : values[i];
  }
  return snapshot;
}

std::vector<Snapshot> tgpt::runtime::train(const plan::Plan &plan, const TrainingSettings &settings) {
  JobOptions options;
  options.watchdogSeconds = settings.watchdogSeconds;
  options.device = settings.device;
  Job job(plan, options);
  job.initializeVariables();
  TokenPattern inputs(plan, settings.learningRate, settings.ignored);
  std::vector<Snapshot> snapshots;
  for (inputs.step = 1; inputs.step <= settings.steps; ++inputs.step) {
    snapshots.push_back(snapshotOf(job, job.runStep(inputs)));
    job.verifyCopiesEqual();
  }
  for (int64_t rank = 0; rank < job.ranks(); ++rank)
    if (job.highWaterBytes(rank) != job.plannedBytes(rank))
      throw Error(job.describeRank(rank) + " touched " + std::to_string(job.highWaterBytes(rank)) + " bytes, planned " +
                  std::to_string(job.plannedBytes(rank)));
  return snapshots;
}

std::string Difference::text() const {
  char number[32];
  std::snprintf(number, sizeof number, "%.2e", error);
  return quantity + (name.empty() ? "" : " " + name) + " after step " + std::to_string(step) + ": " + number;
}

namespace {

/// Compares one step.
class StepComparison {
public:
  StepComparison(const Snapshot &actual, const Snapshot &expected, double learningRate, int step)
      : actual(actual), expected(expected), learningRate(learningRate), step(step) {
    for (const auto &[name, tensor] : expected.variables)
      largestOfRole[tensor.role] = std::max(largestOfRole[tensor.role], largest(tensor.values));
  }

  void run(std::vector<Difference> &differences) const {
    auto relative = [](double a, double e) { return a == e ? 0 : std::abs(a - e) / std::abs(e); };
    differences.push_back({"loss", "", step, relative(actual.loss, expected.loss)});
    differences.push_back({"grad_norm", "", step, relative(actual.gradNorm, expected.gradNorm)});
    differences.push_back({"token_count", "", step, relative(actual.tokenCount, expected.tokenCount)});
    for (const auto &[name, tensor] : expected.variables)
      differences.push_back({plan::Variable::Role_Name(tensor.role), name, step, errorOf(name, tensor)});
    for (const auto &[name, tensor] : actual.variables)
      if (!expected.variables.count(name))
        differences.push_back({plan::Variable::Role_Name(tensor.role), name, step, infinite});
  }

private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  double errorOf(const std::string &name, const Snapshot::Tensor &tensor) const {
    auto found = actual.variables.find(name);
    if (found == actual.variables.end() || found->second.values.size() != tensor.values.size())
      return infinite;
    double difference = largestDifference(found->second.values, tensor.values);
    return difference == 0 ? 0 : difference / std::max(largest(tensor.values), floorOf(tensor.role));
  }

  /// The magnitude below which a difference does not count (Comparison.h).
  double floorOf(Role role) const {
    switch (role) {
    case plan::Variable::GRADIENT:
    case plan::Variable::MOMENT1: return 1e-3 * largestOfRole.at(role);
    case plan::Variable::MOMENT2: return 1e-6 * largestOfRole.at(role);
    default: return learningRate;
    }
  }

  const Snapshot &actual, &expected;
  double learningRate;
  int step;
  std::map<Role, double> largestOfRole;
};

} // namespace

std::vector<Difference> tgpt::runtime::compare(const std::vector<Snapshot> &actual,
                                               const std::vector<Snapshot> &expected, double learningRate) {
  std::vector<Difference> differences;
  if (actual.size() != expected.size())
    throw Error(std::to_string(actual.size()) + " steps cannot be compared with " + std::to_string(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i)
    StepComparison(actual[i], expected[i], learningRate, static_cast<int>(i) + 1).run(differences);
  return differences;
}

void WorstErrors::note(const std::vector<Difference> &differences, const std::string &where) {
  for (const Difference &difference : differences) {
    Entry &entry = worst[difference.quantity];
    if (difference.error > entry.error || std::isnan(difference.error))
      entry = {difference.error, difference.text() + "  " + where};
  }
}

std::string WorstErrors::text() const {
  std::string text;
  for (const auto &[quantity, entry] : worst)
    text += "worst error of " + entry.where + "\n";
  return text;
}
