//===- main.cpp - tgpt-validate: the model against the published record ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints, per table and in total, mean and worst error of predicted step times, rows that
// no fit saw apart from those that a fit did.
//
//===----------------------------------------------------------------------===//

#include "validation/CsvTable.h"
#include "validation/KernelTables.h"
#include "validation/MemoryTables.h"
#include "validation/PublishedRun.h"
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>

using namespace tgpt::validation;

int main(int argc, char **argv) try {
  std::string folder = argv[2], what = argv[1];
  Constants constants(argc > 3 ? argv[3] : folder + "/constants.csv");
  std::vector<Observation> all = what == "products"      ? observeProducts(folder + "/published", constants)
                                 : what == "collectives" ? observeCollectives(folder + "/published", constants)
                                 : what == "memory"      ? observeMemory(folder)
                                                         : observeSteps(folder, constants);
  std::printf("table\trow\tsettings\tsplit\tmeasured\tpredicted\tlabel\n");
  for (const Observation &o : all)
    std::printf("%s\t%s\t%s\t%s\t%.9g\t%.9g\t%s\n", o.table.c_str(), o.row.c_str(), o.settings.c_str(),
                o.heldOut ? "held-out" : "fit", o.measured, o.predicted, o.label.c_str());
  return 0;
} catch (const TableError &error) {
  std::cerr << error.what() << "\n";
  return 1;
}
