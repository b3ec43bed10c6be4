//===- Gantt.h - what each stage does when, as a picture ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Unlike tgpt-opt --print-schedule, whose units are a schedule's own, these pictures have
// seconds on their axis: what a stage waits for is a gap as wide as the wait.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_SIM_GANTT_H
#define TGPT_RUNTIME_SIM_GANTT_H

#include "runtime/sim/SimulatedStep.h"

#include <ostream>
#include <string>

namespace tgpt::runtime::sim {

/// A row of `columns` characters for each stage: what takes most of a column's time there.
void printGantt(const plan::Plan &plan, const SimulatedStep &step, int columns, std::ostream &out);

/// The same as an SVG document, every entry a box with a tooltip.
std::string ganttSvg(const plan::Plan &plan, const SimulatedStep &step);

} // namespace tgpt::runtime::sim

#endif // TGPT_RUNTIME_SIM_GANTT_H
