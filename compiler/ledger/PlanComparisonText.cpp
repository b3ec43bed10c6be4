//===- PlanComparisonText.cpp - formulas beside the plan, for people ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/ledger/PlanComparison.h"
#include "compiler/report/TextTable.h"
#include <cmath>

using namespace tgpt;

static std::string signedBytes(double bytes) {
  return (bytes < 0 ? "-" : "+") + bytesText(std::llround(std::abs(bytes)));
}

static std::string partText(const ComparedPart &part) {
  std::string text = "  " + part.name + ": formula " + bytesText(std::llround(part.formulaBytes)) + ", plan " +
                     bytesText(std::llround(part.planBytes)) + "\n";
  for (const DifferenceLine &line : part.lines)
    text += "    " + signedBytes(line.bytes) + "  " + line.reason + "\n";
  double rest = part.unexplainedBytes();
  if (std::abs(rest) >= 0.5)
    text += "    " + signedBytes(rest) + "  of which the ledger knows no reason\n";
  return text;
}

static std::string partsText(const ComparedStage &stage) {
  std::string text;
  for (const ComparedPart &part : stage.parts)
    text += partText(part);
  return text;
}

std::string tgpt::comparisonText(const std::vector<ComparedStage> &stages) {
  std::string text = "formulas beside the plan, bytes of a rank:\n";
  for (size_t first = 0, next; first < stages.size(); first = next) {
    std::string parts = partsText(stages[first]);
    for (next = first + 1; next < stages.size() && partsText(stages[next]) == parts;)
      ++next;
    std::string name = "stage " + std::to_string(stages[first].stage);
    if (next - first > 1)
      name = "stages " + std::to_string(stages[first].stage) + "-" + std::to_string(stages[next - 1].stage);
    text += name + ": formula " + bytesText(std::llround(stages[first].formulaBytes())) + ", plan " +
            std::to_string(std::llround(stages[first].planBytes())) + " B, " +
            bytesText(std::llround(stages[first].planBytes())) + "\n" + parts;
  }
  return text;
}
