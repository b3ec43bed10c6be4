//===- MemoryTables.cpp - published bytes against the closed forms ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "validation/MemoryTables.h"
#include "cost/RankMemory.h"
#include "validation/CachingAllocator.h"
#include "validation/CsvTable.h"
#include "validation/TableReaders.h"
#include <charconv>
#include <map>

namespace tgpt::validation {
namespace {

constexpr double mebibyte = 1048576, gibibyte = 1024 * mebibyte, gigabyte = 1e9;

Observation observed(const std::string &table, const std::string &row, const std::string &label, double measured,
                     double predicted) {
  return {table, row, label, table, true, measured, predicted};
}

/// A number of the JSON object in a cell: {"name": 1.5, ...}.
double jsonNumber(const CsvRow &row, const std::string &column, const std::string &name) {
  const std::string &text = row.text(column);
  std::size_t at = text.find("\"" + name + "\":");
  double value = 0;
  if (at != std::string::npos) {
    at = text.find_first_not_of(' ', at + name.size() + 3);
    if (std::from_chars(text.data() + at, text.data() + text.size(), value).ec == std::errc())
      return value;
  }
  throw TableError(row.place + ": '" + column + "' has no number '" + name + "'");
}

/// arXiv 1910.02054, table 1: model states in GB, printed to two or three digits.
void observeZero(const std::string &folder, std::vector<Observation> &observations) {
  for (const CsvRow &row : readCsv(folder + "/published/zero_1910_02054_tables.csv")) {
    if (!row.has("peak_mem"))
      continue;
    int stage = row.text("sharding").back() - '0';
    double predicted = cost::shardedStates(row.number("params_b") * 1e9, stage, row.number("dp"), {}).stateBytes();
    observations.push_back(observed("states, ZeRO table 1", row.text("row_id"), row.text("row_label"),
                                    row.number("peak_mem") * gigabyte, predicted));
  }
}

/// Figures 1 and 7 of arXiv 2205.05198, as Calculon quotes them: GPT-3 under Megatron-LM, first stage.
void observeFigures(const std::string &folder, std::vector<Observation> &observations) {
  const TableReader reader{"", "", nullptr};
  std::map<std::string, double> baselines; // by model: the TP baseline's activations
  for (const CsvRow &row : readCsv(folder + "/published/calculon_validation_fig1_fig7.csv")) {
    PublishedRun run = commonFields(row, reader);
    asMegatron(run);
    readRecompute(row, run);
    run.run.microBatches = row.number("global_batch") / run.run.microBatch;
    cost::RankMemory memory = cost::rankMemory(run.shape, run.run, {}, 0);
    // The figure counts 18 bytes a parameter, and parameters of layers only.
    cost::ModelShape layersOnly = run.shape;
    layersOnly.vocabulary = layersOnly.learnedPositions = 0;
    double states = cost::rankMemory(layersOnly, run.run, {2, 4, 4, 8, 0}, 0).stateBytes();
    std::string model = run.label.substr(5, run.label.rfind(' ') - 5);
    if (run.run.recompute == cost::Recompute::None && !run.run.sequenceParallel)
      baselines[model] = memory.activationBytes;
    if (run.label.starts_with("Fig1")) {
      observations.push_back(observed("activations, figure 1", run.row, run.label,
                                      jsonNumber(row, "extra", "activations_gib") * gibibyte, memory.activationBytes));
      observations.push_back(observed("weights and optimizer, figure 1", run.row, run.label,
                                      jsonNumber(row, "extra", "params_optimizer_gib") * gibibyte, states));
    } else {
      double share = jsonNumber(row, "extra", "activation_memory_pct_of_TP_baseline") / 100;
      observations.push_back(
          observed("activations, figure 7", run.row, run.label, share * baselines.at(model), memory.activationBytes));
    }
  }
}

/// Seven runs of Megatron-LM and Megatron-DeepSpeed, each rank's allocator as printed after some steps.
void observeBigScience(const std::string &folder, std::vector<Observation> &observations) {
  const TableReader reader{"", "", nullptr};
  for (const CsvRow &row : readCsv(folder + "/published/bigscience_v100_rank_memory.csv")) {
    PublishedRun run = commonFields(row, reader);
    asMegatron(run);
    readRecompute(row, run);
    run.shape.vocabulary = row.number("padded_vocab");
    // fp16 gradients beside 32-bit ones; DeepSpeed keeps no gradients between steps, but has fp16 ones beside the
    // activations. When those are gone, Megatron-LM copies all gradients into one buffer to reduce them, and DeepSpeed
    // makes 32-bit ones of them.
    cost::StateBytes states;
    states.masterGradient = 4;
    bool deepspeed = row.contains("framework", "DeepSpeed");
    if (deepspeed)
      states.gradient = states.masterGradient = 0;
    cost::RankMemory memory = cost::rankMemory(run.shape, run.run, states, row.number("pipeline_stage"));
    std::string stage = row.text("run") + " stage " + row.text("pipeline_stage");
    observations.push_back(observed("parameters, BigScience ranks", stage, stage, row.number("params_on_rank"),
                                    cost::stageParameters(run.shape, run.run, row.number("pipeline_stage"))));
    observations.push_back(observed("states, BigScience ranks (measured)", stage, stage,
                                    row.number("allocated_MB") * mebibyte, memory.stateBytes()));
    // That log's peak was not cumulative.
    double parameters = row.number("params_on_rank");
    double duringPasses = memory.activationBytes + memory.workingBytes + (deepspeed ? 2 * parameters : 0);
    double duringUpdate = (deepspeed ? 2 + 4 : 2) * parameters;
    if (row.number("max_allocated_MB") > row.number("allocated_MB") + 1)
      observations.push_back(observed("peak, BigScience ranks (measured)", stage, stage,
                                      row.number("max_allocated_MB") * mebibyte,
                                      memory.stateBytes() + std::max(duringPasses, duringUpdate)));
  }
}

/// The fullest rank of a published run. A delayed weight gradient reads the gradients of what the activation read,
/// beside what is saved for the backward: a published schedule holds them for as long as the slot.
double fullestBytes(const PublishedRun &run) {
  const cost::Execution &degrees = run.run;
  double tokens = degrees.microBatch * run.shape.sequence / degrees.cp, most = 0;
  double waiting = degrees.elementBytes * tokens * run.shape.ffnHidden / degrees.tp;
  for (double stage : {0.0, 1.0, degrees.pp - 1}) {
    if (stage >= degrees.pp)
      continue;
    double held = degrees.keepsForWeightGradients ? cost::layersInFlight(run.shape, degrees, stage) * waiting : 0;
    most = std::max(most, cost::rankMemory(run.shape, degrees, run.states, stage).totalBytes() + held);
  }
  return most;
}

/// Peaks of whole runs, in whole GB on a device that is not named.
void observePeaks(const std::string &folder, std::vector<Observation> &observations) {
  for (const PublishedRun &run : readRuns(folder + "/published", folder + "/excluded.csv")) {
    if (run.peakBytes == 0 || !run.leftOut.empty())
      continue;
    double peak = run.isReserved ? reservedBytes(run.shape, run.run, run.states) : fullestBytes(run);
    observations.push_back(observed("peak, " + run.table + " (measured)", run.row, run.label, run.peakBytes, peak));
  }
}

} // namespace

std::vector<Observation> observeMemory(const std::string &folder) {
  std::vector<Observation> observations;
  observeZero(folder, observations);
  observeFigures(folder, observations);
  observeBigScience(folder, observations);
  observePeaks(folder, observations);
  return observations;
}

} // namespace tgpt::validation
