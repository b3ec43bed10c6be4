//===- Job.cpp - runs a plan on all its ranks -------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Job.h"
#include "runtime/engine/JobImpl.h"
#include "runtime/plan/BufferExtent.h"

#include <algorithm>
#include <limits>

using namespace tgpt;
using namespace tgpt::runtime;

double StepMetrics::value(std::string_view name) const {
  for (const auto &[key, value] : byName)
    if (key == name)
      return value;
  return std::numeric_limits<double>::quiet_NaN();
}

Job::Job(plan::Plan plan, JobOptions options) : impl(std::make_unique<Impl>(std::move(plan), std::move(options))) {}

/// A thread that is lost goes on using its arena and program, so these outlive the job.
Job::~Job() {
  static auto &kept = *new std::vector<std::unique_ptr<Impl>>;
  if (impl->failures.hasLostThreads())
    kept.push_back(std::move(impl));
}

const plan::Plan &Job::plan() const {
  return impl->plan;
}
int64_t Job::ranks() const {
  return impl->grid.ranks();
}
void Job::initializeVariables() {
  impl->initializeVariables();
}
const StepMetrics &Job::runStep(StepInputs &inputs) {
  return impl->runStep(inputs);
}

std::vector<std::string> Job::variableNames() const {
  return impl->variables->names();
}
const plan::Variable &Job::variable(std::string_view name) const {
  return impl->variables->entry(name);
}
LogicalTensor Job::readVariable(std::string_view name) const {
  impl->refreshMirrors();
  return impl->variables->read(name);
}
void Job::writeVariable(std::string_view name, const LogicalTensor &value) {
  impl->refreshMirrors();
  impl->variables->write(name, value);
  impl->noteWritten();
}
void Job::verifyCopiesEqual() const {
  impl->refreshMirrors();
  impl->variables->verifyCopiesEqual();
}

int64_t Job::highWaterBytes(int64_t rank) const {
  int64_t touched = impl->programs[rank] ? impl->programs[rank]->touchedBytes() : impl->touchedBytes[rank];
  return (touched + regionGrainBytes - 1) / regionGrainBytes * regionGrainBytes;
}
int64_t Job::plannedBytes(int64_t rank) const {
  return impl->plan.stages(static_cast<int>(impl->grid.stageOf(rank))).arena_bytes();
}
std::string Job::describeRank(int64_t rank) const {
  return impl->grid.describe(rank);
}

std::vector<ProfileEntry> Job::profile(int64_t rank) const {
  return impl->programs[rank] ? impl->profileOf(rank) : impl->elsewhere[rank];
}

void Job::resetProfile() {
  for (int64_t rank : impl->own)
    for (ProfileEntry &entry : impl->programs[rank]->profile)
      entry = ProfileEntry{entry.opcode};
  for (const std::unique_ptr<CommunicationThread> &thread : impl->communication)
    if (thread)
      thread->profile = thread->emptyProfile();
}

void Job::onFirstProcess(const std::function<void()> &body) {
  if (impl->options.processes && impl->isOnDevice()) {
    impl->refreshMirrors();
    impl->gather(""); // the first process reads everyone's
  }
  if (isFirstProcess()) {
    try {
      body();
    } catch (const JobAborted &) { // out of reading from another machine
      impl->failures.awaitRest();
      impl->failures.throwIfAny();
    }
  }
  if (impl->options.processes)
    impl->gather("");
}

bool Job::anySays(bool yes) {
  if (!impl->options.processes)
    return yes;
  std::vector<std::string> all = impl->gather(yes ? "y" : "n");
  return std::find(all.begin(), all.end(), "y") != all.end();
}

void Job::exchangeReports() {
  impl->exchangeReports();
}
bool Job::isFirstProcess() const {
  return !impl->options.processes || impl->options.processes->rank() == 0;
}
std::vector<std::string> Job::deviceSummary() const {
  std::vector<std::string> lines;
  for (int64_t rank : impl->own)
    if (impl->isOnDevice()) {
      const DeviceRank &device = *impl->deviceRanks[rank];
      lines.push_back(describeRank(rank) + " on " +
                      impl->options.device.backend->device->describe(device.deviceNumber()) + ": " +
                      device.memoryText());
    }
  return lines;
}

int64_t Job::replayedPieces() const {
  int64_t count = 0;
  for (const std::unique_ptr<DeviceRank> &device : impl->deviceRanks)
    count += device ? device->replayedPieces() : 0;
  return count;
}

std::map<std::string, FusedCount> Job::fusedCalls() const {
  std::map<std::string, FusedCount> counts;
  for (const std::unique_ptr<DeviceRank> &device : impl->deviceRanks)
    if (device)
      for (const auto &[name, count] : device->fusedCalls()) {
        counts[name].calls += count.calls;
        counts[name].instructions += count.instructions;
      }
  return counts;
}

bool Job::foundStuck() const {
  return impl->failures.foundStuck();
}

std::vector<InstructionEvent> Job::events(int64_t rank) const {
  return impl->programs[rank] ? impl->eventsOf(rank) : impl->eventsElsewhere[rank];
}
