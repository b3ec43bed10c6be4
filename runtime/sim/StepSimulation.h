//===- StepSimulation.h - a step, event by event ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A discrete-event simulation. Each stage walks its schedule as a rank of the engine does:
// a queue of computation, and queues of started collectives beside it. What is running is
// a task, with the seconds it still needs when alone and the rate at which they pass:
//
//   - kernels lose Software::overlapSlowdown of their rate while their rank communicates beside them;
//   - where the ranks of a node share its cores, everything that runs there runs at cores / running
//     tasks, when that is below 1. A rank then has one thread for started collectives, as cpu ranks have.
//
// Waits are those of StepGraph.h: a RECV for its message, a SEND for a free message buffer
// (depth 0: for its RECV), a collective across stages for the last member, a WAIT for its
// event. Ranks of one stage arrive together, so other collectives wait for nobody.
//
// StepSimulation.cpp walks the instructions, TaskRates.cpp runs the tasks, StepTotals.cpp adds up.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_SIM_STEPSIMULATION_H
#define TGPT_RUNTIME_SIM_STEPSIMULATION_H

#include "runtime/sim/Simulate.h"
#include "runtime/sim/StepActions.h"

#include <array>
#include <deque>
#include <queue>

namespace tgpt::runtime::sim {

class StepSimulation {
public:
  StepSimulation(const plan::Plan &plan, const cost::Cluster &cluster, const SimulationOptions &options);

  /// To the end of the step. Throws Error where stages wait for each other for ever, which no valid plan does.
  SimulatedStep run();

private:
  /// Computation, and at most two queues beside it.
  static constexpr int queues = 3;

  struct Task {
    bool isRunning = false;
    bool isKernel = false;
    double remaining = 0; ///< seconds when alone
    double rate = 1, since = 0;
    double begin = 0;
    double alone = 0; ///< seconds when alone, all of it
    uint32_t version = 0;
  };

  /// A started collective, or one of its queue's that runs.
  struct Flight {
    const Action *action;
    int entry, index;
  };

  /// What a started collective's event has come to.
  struct Event {
    bool hasHappened = false;
    Traffic traffic = Traffic::Tensor;
  };

  struct Stage {
    int entry = 0, index = 0;
    bool isBlocked = false; ///< at its instruction, since `reached`
    double reached = 0;
    std::array<Task, queues> tasks;
    std::array<std::deque<Flight>, queues> flights;
    std::vector<Event> events;
    std::vector<std::pair<int, int>> onNode; ///< stages with ranks on this one's node, and how many
    bool hasBegun = false;                   ///< its entry
  };

  struct Interval {
    double begin, end;
  };

  struct Channel {
    int64_t sent = 0, received = 0;
    std::deque<Interval> arrived; ///< when the messages not yet received were on their way
    bool isOffered = false;       ///< depth 0: the sender waits
    bool isMoving = false;        ///< depth 0: the receiver copies
  };

  struct Moment {
    double time;
    uint64_t order; ///< of equal times: first come, first served
    int stage, queue;
    uint32_t version;
    bool operator>(const Moment &other) const { return time != other.time ? time > other.time : order > other.order; }
  };

  bool isDone(const Stage &stage) const { return stage.entry == plan.stages(indexOf(stage)).schedule_size(); }
  int indexOf(const Stage &stage) const { return static_cast<int>(&stage - stages.data()); }
  RankSeconds &secondsOf(const Stage &stage) { return result.stages[indexOf(stage)]; }
  const SegmentActions &segmentOf(const Stage &stage) const;
  int queueOf(plan::Instruction::Stream stream) const { return cores > 0 ? 1 : static_cast<int>(stream); }

  void findNeighbours();
  void drain();
  /// Goes on with a stage until it runs a task, waits, or is done.
  void advance(Stage &stage);
  /// Begins the stage's instruction, or says that it waits.
  bool begin(Stage &stage, const Action &action);
  void beginFlight(Stage &stage, const Action &action);
  bool passWait(Stage &stage, const Action &action);
  bool beginSend(Stage &stage, const Action &action);
  bool beginReceive(Stage &stage, const Action &action);
  bool beginMeeting(Stage &stage, const Action &action);
  void startFlight(Stage &stage, int queue);
  void beginTask(Stage &stage, int queue, double seconds, bool isKernel);
  void beginWork(Stage &stage);
  void finish(Stage &stage, int queue);
  void finishInstruction(Stage &stage);
  void finishFlight(Stage &stage, int queue);
  void finishSend(int channel, Interval flight);
  void finishReceive(int channel);
  void next(Stage &stage, int count);
  void record(const Stage &stage, int entry, int index, plan::Instruction::Stream stream, double begin);
  void setRates(Stage &changed);
  void setRate(Stage &stage, int queue, double rate);
  double rateOf(const Stage &stage, int queue) const;
  double countDevices() const;
  double countSamples() const;
  void addUp();
  [[noreturn]] void failStuck() const;

  const plan::Plan &plan;
  const cost::Cluster &cluster;
  SimulationOptions options;
  StepActions actions;
  double cores; ///< of a node, where its ranks share them; else 0
  double now = 0;
  uint64_t moments = 0;
  std::vector<Stage> stages;
  std::vector<Channel> channels;
  std::vector<std::vector<int>> arrived; ///< by group: stages that wait in its next collective
  std::priority_queue<Moment, std::vector<Moment>, std::greater<>> pending;
  std::vector<int> ready; ///< stages to go on with
  SimulatedStep result;
};

} // namespace tgpt::runtime::sim

#endif // TGPT_RUNTIME_SIM_STEPSIMULATION_H
