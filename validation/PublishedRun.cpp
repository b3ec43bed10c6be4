//===- PublishedRun.cpp - a published measurement, as the model's input ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "validation/PublishedRun.h"
#include "cost/StepTime.h"
#include "validation/CachingAllocator.h"
#include "validation/CsvTable.h"
#include "validation/TableReaders.h"
#include <map>

namespace tgpt::validation {

double PublishedRun::predictedSeconds(const Constants &constants) const {
  cost::Machine machine = constants.machine(device, cluster, software);
  if (layersMeasured > 0)
    return layersMeasured * cost::layerSeconds(cost::layerParts(machine, shape, run), run, machine.software).total();
  return cost::stepSeconds(machine, shape, run).total +
         remapSeconds(shape, run, states, constants.edge(device, software));
}

std::vector<Observation> observeSteps(const std::string &folder, const Constants &constants) {
  std::vector<Observation> observations;
  for (const PublishedRun &run : readRuns(folder + "/published", folder + "/excluded.csv"))
    if (run.leftOut.empty())
      observations.push_back({run.table, run.row, run.label, run.software + " " + run.device + " " + run.group,
                              isHeldOut(run.group), run.measuredSeconds, run.predictedSeconds(constants)});
  return observations;
}

std::vector<PublishedRun> readRuns(const std::string &folder, const std::string &excludedPath) {
  std::map<std::string, std::string> reasons;
  for (const CsvRow &row : readCsv(excludedPath)) {
    if (!row.has("reason"))
      throw TableError(row.place + ": a row is left out without a reason");
    reasons[row.text("row_id")] = row.text("reason");
  }
  std::vector<PublishedRun> runs;
  for (const TableReader &reader : tableReaders()) {
    for (const CsvRow &row : readCsv(folder + "/" + reader.file)) {
      PublishedRun run = commonFields(row, reader);
      if (auto reason = reasons.extract(run.row))
        run.leftOut = reason.mapped();
      else
        reader.read(row, run);
      runs.push_back(std::move(run));
    }
  }
  if (!reasons.empty())
    throw TableError(excludedPath + ": no table has the row '" + reasons.begin()->first + "'");
  return runs;
}

} // namespace tgpt::validation
