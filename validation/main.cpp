//===- main.cpp - tgpt-validate: the model against the published record ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts what published tables measured, and prints mean and worst error by table, rows
// that no fit saw apart.
//
//===----------------------------------------------------------------------===//

#include "cost/StepTime.h"
#include "validation/CsvTable.h"
#include "validation/KernelTables.h"
#include "validation/MemoryTables.h"
#include "validation/PublishedRun.h"
#include "validation/Summary.h"
#include <chrono>
#include <cstdio>
#include <iostream>

using namespace tgpt::validation;

namespace {

constexpr const char *usage = R"(usage: tgpt-validate COMMAND FOLDER [CONSTANTS]

Predicts what the published tables in FOLDER/published measured.

  summary      mean and worst error by table; exit code 1 where one exceeds FOLDER/bounds.csv
  bounds       the errors as they are, rounded up: a new bounds.csv
  left-out     the rows that are left out, and why
  speed        step times computed a second
  products | collectives | steps | memory
               each row of these tables, measured and predicted, tab-separated

CONSTANTS is FOLDER/constants.csv where it is not given.
)";

std::vector<Observation> observe(const std::string &what, const std::string &folder, const Constants &constants) {
  if (what == "products")
    return observeProducts(folder + "/published", constants);
  if (what == "collectives")
    return observeCollectives(folder + "/published", constants);
  if (what == "steps")
    return observeSteps(folder, constants);
  return observeMemory(folder);
}

std::vector<TableErrors> allErrors(const std::string &folder, const Constants &constants) {
  std::vector<TableErrors> tables;
  for (auto [what, section] : {std::pair{"steps", "step time"},
                               {"memory", "memory"},
                               {"products", "matrix products"},
                               {"collectives", "collectives"}})
    for (TableErrors &table : errorsByTable(section, observe(what, folder, constants)))
      tables.push_back(std::move(table));
  return tables;
}

int printSummary(const std::string &folder, const Constants &constants) {
  std::vector<TableErrors> tables = allErrors(folder, constants);
  printErrors(std::cout, tables);
  // The eight step times that Calculon ships with, the first rows of their table.
  std::vector<Observation> steps = observe("steps", folder, constants);
  steps.resize(8);
  Errors calculon = errorsByTable("", steps).front().all;
  std::printf("step time, Calculon's 8 rows: mean %.2f%%, worst %.2f%% (Calculon itself: 3.65%%, 8.87%%)\n",
              100 * calculon.mean, 100 * calculon.worst);
  std::vector<std::string> complaints = exceeded(folder + "/bounds.csv", tables);
  for (const std::string &complaint : complaints)
    std::cerr << complaint << "\n";
  return complaints.empty() ? 0 : 1;
}

void printRows(const std::vector<Observation> &observations) {
  std::printf("table\trow\tsettings\tsplit\tmeasured\tpredicted\tlabel\n");
  for (const Observation &o : observations)
    std::printf("%s\t%s\t%s\t%s\t%.9g\t%.9g\t%s\n", o.table.c_str(), o.row.c_str(), o.settings.c_str(),
                o.heldOut ? "held-out" : "fit", o.measured, o.predicted, o.label.c_str());
}

void printLeftOut(const std::string &folder) {
  for (const PublishedRun &run : readRuns(folder + "/published", folder + "/excluded.csv"))
    if (!run.leftOut.empty())
      std::printf("%s: %s\n", run.row.c_str(), run.leftOut.c_str());
}

void printSpeed(const std::string &folder, const Constants &constants) {
  std::vector<PublishedRun> runs = readRuns(folder + "/published", folder + "/excluded.csv");
  std::erase_if(runs, [](const PublishedRun &run) { return !run.leftOut.empty() || run.layersMeasured > 0; });
  std::vector<tgpt::cost::Machine> machines;
  for (const PublishedRun &run : runs)
    machines.push_back(constants.machine(run.device, run.cluster, run.software));
  double sum = 0;
  long steps = 0;
  auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> seconds{};
  for (; seconds.count() < 1; seconds = std::chrono::steady_clock::now() - begin)
    for (std::size_t i = 0; i < runs.size(); ++i, ++steps)
      sum += tgpt::cost::stepSeconds(machines[i], runs[i].shape, runs[i].run).total;
  std::printf("%.0f step times a second on one core (mean of what they predict: %.3f s)\n", steps / seconds.count(),
              sum / steps);
}

int runCommand(const std::string &command, const std::string &folder, const Constants &constants) {
  if (command == "summary")
    return printSummary(folder, constants);
  if (command == "bounds")
    printBounds(std::cout, allErrors(folder, constants));
  else if (command == "left-out")
    printLeftOut(folder);
  else if (command == "speed")
    printSpeed(folder, constants);
  else if (command == "products" || command == "collectives" || command == "steps" || command == "memory")
    printRows(observe(command, folder, constants));
  else {
    std::cerr << "tgpt-validate: error: unknown command '" << command
              << "', expected summary, bounds, left-out, speed, products, collectives, steps or memory\n";
    return 1;
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  std::string command = argc > 1 ? argv[1] : "--help";
  if (command == "--help" || command == "-h") {
    std::cout << usage;
    return 0;
  }
  if (argc < 3 || argc > 4) {
    std::cerr << "tgpt-validate: error: expected a command and a folder\n" << usage;
    return 1;
  }
  try {
    std::string folder = argv[2];
    return runCommand(command, folder, Constants(argc > 3 ? argv[3] : folder + "/constants.csv"));
  } catch (const TableError &error) {
    std::cerr << "tgpt-validate: error: " << error.what() << "\n";
    return 1;
  }
}
