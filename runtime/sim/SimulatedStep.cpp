//===- SimulatedStep.cpp - what a step takes, by prediction ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/SimulatedStep.h"

using namespace tgpt::runtime::sim;

double SimulatedStep::meanComputing() const {
  return mean([](const RankSeconds &rank) { return rank.computing; });
}
double SimulatedStep::meanSlowedDown() const {
  return mean([](const RankSeconds &rank) { return rank.slowedDown; });
}
double SimulatedStep::meanIdle() const {
  return mean([](const RankSeconds &rank) { return rank.idle; });
}
double SimulatedStep::meanExposed(Traffic traffic) const {
  return mean([&](const RankSeconds &rank) { return rank.exposed[traffic]; });
}
double SimulatedStep::meanBeside(Traffic traffic) const {
  return mean([&](const RankSeconds &rank) { return rank.beside[traffic]; });
}
double SimulatedStep::bubble() const {
  double busy = mean([](const RankSeconds &rank) { return rank.busy(); });
  return busy > 0 ? meanIdle() / busy : 0;
}
