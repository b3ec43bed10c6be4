//===- StepSimulation.cpp - a step, event by event ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/StepSimulation.h"

#include <algorithm>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::sim;

StepSimulation::StepSimulation(const plan::Plan &plan, const cost::Cluster &cluster, const SimulationOptions &options)
    : plan(plan), cluster(cluster), options(options), actions(plan, cluster), cores(cluster.coresPerNode),
      stages(plan.stages_size()), channels(plan.channels_size()), arrived(plan.groups_size()) {
  result.stages.resize(plan.stages_size());
  for (Stage &stage : stages) {
    int index = indexOf(stage);
    stage.events.resize(actions.eventCount());
    secondsOf(stage).rank = actions.rankOf(index);
    secondsOf(stage).entries.resize(plan.stages(index).schedule_size());
    ready.push_back(index);
  }
  std::reverse(ready.begin(), ready.end()); // taken from the end
  if (cores > 0)
    findNeighbours();
}

const SegmentActions &StepSimulation::segmentOf(const Stage &stage) const {
  int index = indexOf(stage);
  return actions.of(index, static_cast<int>(plan.stages(index).schedule(stage.entry).segment()));
}

SimulatedStep StepSimulation::run() {
  drain();
  while (!pending.empty()) {
    Moment moment = pending.top();
    pending.pop();
    Stage &stage = stages[moment.stage];
    if (!stage.tasks[moment.queue].isRunning || stage.tasks[moment.queue].version != moment.version)
      continue; // its rate has changed since
    now = moment.time;
    finish(stage, moment.queue);
    drain();
  }
  if (!std::all_of(stages.begin(), stages.end(), [this](const Stage &stage) { return isDone(stage); }))
    failStuck();
  addUp();
  return std::move(result);
}

void StepSimulation::drain() {
  while (!ready.empty()) {
    Stage &stage = stages[ready.back()];
    ready.pop_back();
    advance(stage);
  }
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void StepSimulation::advance(Stage &stage) {
  while (!stage.tasks[0].isRunning && !isDone(stage)) {
    const SegmentActions &segment = segmentOf(stage);
    if (stage.index == static_cast<int>(segment.size())) { // an empty segment
      next(stage, 0);
      continue;
    }
    if (!stage.isBlocked)
      stage.reached = now;
    stage.isBlocked = !begin(stage, segment[stage.index]);
    if (stage.isBlocked)
      return;
  }
}

bool StepSimulation::begin(Stage &stage, const Action &action) {
  switch (action.kind) {
  case ActionKind::Compute:
    beginWork(stage);
    beginTask(stage, 0, options.recordsEvents ? action.seconds : action.runSeconds, /*isKernel=*/true);
    return true;
  case ActionKind::Exchange:
    beginWork(stage);
    beginTask(stage, 0, action.seconds, /*isKernel=*/false);
    return true;
  case ActionKind::Start: beginFlight(stage, action); return true;
  case ActionKind::Wait: return passWait(stage, action);
  case ActionKind::Send: return beginSend(stage, action);
  case ActionKind::Receive: return beginReceive(stage, action);
  case ActionKind::Meet: return beginMeeting(stage, action);
  }
  return false;
}

void StepSimulation::beginFlight(Stage &stage, const Action &action) {
  beginWork(stage);
  int queue = queueOf(action.stream);
  stage.events[action.partner].hasHappened = false;
  stage.flights[queue].push_back({&action, stage.entry, stage.index});
  next(stage, 1);
  if (!stage.tasks[queue].isRunning)
    startFlight(stage, queue);
}

bool StepSimulation::passWait(Stage &stage, const Action &action) {
  const Event &event = stage.events[action.partner];
  if (!event.hasHappened)
    return false;
  secondsOf(stage).exposed[event.traffic] += now - stage.reached;
  record(stage, stage.entry, stage.index, plan::Instruction::COMPUTE, stage.reached);
  next(stage, 1);
  return true;
}

bool StepSimulation::beginSend(Stage &stage, const Action &action) {
  Channel &channel = channels[action.partner];
  int64_t depth = plan.channels(action.partner).depth();
  if (depth == 0) { // the receiver does it
    if (!channel.isOffered && !channel.isMoving) {
      channel.isOffered = true;
      ready.push_back(static_cast<int>(plan.channels(action.partner).to_stage()));
    }
    return false;
  }
  if (channel.sent - channel.received >= depth)
    return false;
  secondsOf(stage).idle += now - stage.reached;
  beginWork(stage);
  beginTask(stage, 0, action.seconds, /*isKernel=*/false);
  return true;
}

bool StepSimulation::beginReceive(Stage &stage, const Action &action) {
  Channel &channel = channels[action.partner];
  RankSeconds &seconds = secondsOf(stage);
  if (plan.channels(action.partner).depth() == 0) {
    if (!channel.isOffered)
      return false;
    Stage &sender = stages[plan.channels(action.partner).from_stage()];
    seconds.idle += now - stage.reached;
    secondsOf(sender).idle += now - sender.reached;
    sender.reached = now; // from here on the message is on its way
    channel.isOffered = false;
    channel.isMoving = true;
  } else {
    if (channel.arrived.empty())
      return false;
    Interval flight = channel.arrived.front();
    channel.arrived.pop_front();
    double onItsWay = std::max(0.0, std::min(flight.end, now) - std::max(flight.begin, stage.reached));
    seconds.exposed[Traffic::Pipeline] += onItsWay;
    seconds.idle += now - stage.reached - onItsWay;
  }
  beginWork(stage);
  beginTask(stage, 0, action.seconds, /*isKernel=*/false);
  return true;
}

bool StepSimulation::beginMeeting(Stage &stage, const Action &action) {
  std::vector<int> &present = arrived[action.partner];
  if (!stage.isBlocked)
    present.push_back(indexOf(stage));
  if (present.size() < actions.membersOf(action.partner).size())
    return false;
  for (int member : present) {
    Stage &other = stages[member];
    other.isBlocked = false;
    secondsOf(other).idle += now - other.reached;
    beginWork(other);
    beginTask(other, 0, segmentOf(other)[other.index].seconds, /*isKernel=*/false);
  }
  present.clear();
  return true;
}

/// The entry has begun, now that its first instruction waits no longer.
void StepSimulation::beginWork(Stage &stage) {
  if (!stage.hasBegun)
    secondsOf(stage).entries[stage.entry].begin = now;
  stage.hasBegun = true;
}

void StepSimulation::startFlight(Stage &stage, int queue) {
  if (!stage.flights[queue].empty())
    beginTask(stage, queue, stage.flights[queue].front().action->seconds, /*isKernel=*/false);
}

void StepSimulation::finish(Stage &stage, int queue) {
  Task &task = stage.tasks[queue];
  task.isRunning = false;
  if (queue > 0)
    finishFlight(stage, queue);
  else
    finishInstruction(stage);
  setRates(stage);
  ready.push_back(indexOf(stage));
}

void StepSimulation::finishFlight(Stage &stage, int queue) {
  Flight flight = stage.flights[queue].front();
  stage.flights[queue].pop_front();
  double begin = stage.tasks[queue].begin;
  stage.events[flight.action->partner] = {true, flight.action->traffic};
  secondsOf(stage).beside[flight.action->traffic] += now - begin;
  record(stage, flight.entry, flight.index, flight.action->stream, begin);
  startFlight(stage, queue);
}

void StepSimulation::finishInstruction(Stage &stage) {
  const Action &action = segmentOf(stage)[stage.index];
  const Task &task = stage.tasks[0];
  RankSeconds &seconds = secondsOf(stage);
  record(stage, stage.entry, stage.index, plan::Instruction::COMPUTE, stage.reached);
  if (action.kind == ActionKind::Compute) {
    seconds.computing += now - task.begin;
    double lost = now - task.begin - task.alone;
    seconds.slowedDown += lost > 1e-12 * now ? lost : 0; // else a rounding of the clock
    return next(stage, options.recordsEvents ? 1 : action.runEnd - stage.index);
  }
  Interval flight{task.begin, now};
  seconds.exposed[action.traffic] += now - task.begin;
  next(stage, 1);
  if (action.kind == ActionKind::Send)
    finishSend(action.partner, flight);
  if (action.kind == ActionKind::Receive)
    finishReceive(action.partner);
}

void StepSimulation::finishSend(int channel, Interval flight) {
  ++channels[channel].sent;
  channels[channel].arrived.push_back(flight);
  ready.push_back(static_cast<int>(plan.channels(channel).to_stage()));
}

void StepSimulation::finishReceive(int channel) {
  const plan::Channel &ends = plan.channels(channel);
  ++channels[channel].received;
  channels[channel].isMoving = false;
  Stage &sender = stages[ends.from_stage()];
  if (ends.depth() == 0) { // the sender has waited for it
    secondsOf(sender).exposed[Traffic::Pipeline] += now - sender.reached;
    record(sender, sender.entry, sender.index, plan::Instruction::COMPUTE, sender.reached);
    sender.isBlocked = false;
    beginWork(sender);
    next(sender, 1);
  }
  ready.push_back(indexOf(sender));
}

void StepSimulation::next(Stage &stage, int count) {
  RankSeconds &seconds = secondsOf(stage);
  bool isEmpty = segmentOf(stage).empty();
  beginWork(stage);
  stage.index += count;
  if (!isEmpty && stage.index < static_cast<int>(segmentOf(stage).size()))
    return;
  seconds.entries[stage.entry].end = now;
  seconds.end = now;
  ++stage.entry;
  stage.index = 0;
  stage.hasBegun = false;
}

void StepSimulation::record(const Stage &stage, int entry, int index, plan::Instruction::Stream stream, double begin) {
  if (!options.recordsEvents)
    return;
  InstructionEvent event;
  event.stage = indexOf(stage);
  event.rank = actions.rankOf(event.stage);
  event.step = 1;
  event.entry = entry;
  event.instruction = index;
  event.stream = stream;
  event.beginSeconds = begin;
  event.endSeconds = now;
  result.events.push_back(event);
}
