//===- Job.h - runs a plan on all its ranks ---------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A job checks a plan, gives every rank a thread and one arena of exactly the
// planned bytes, resolves every instruction to a function pointer and tensor
// views, and then runs steps. A step neither allocates nor looks anything up.
//
// With JobOptions::processes each rank is a process, with a Job of its own that runs this
// rank alone. What is said to be collective is then called by all of them, in the same
// order; their arenas are in memory that they share.
//
// The first rank that fails ends the job, and so does the watchdog when no rank advances:
// all waits end, runStep throws JobFailure with that rank, stage, segment, instruction and
// model line and the position of every rank, and so does every later call that needs the
// ranks.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_JOB_H
#define TGPT_RUNTIME_ENGINE_JOB_H

#include "runtime/engine/DeviceBackend.h"
#include "runtime/engine/KernelSet.h"
#include "runtime/engine/LogicalTensor.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/trace/InstructionEvent.h"

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tgpt::runtime {

class ProcessTeam;

/// Where INPUT instructions get their data.
class StepInputs {
public:
  virtual ~StepInputs() = default;
  /// Fills `destination`. Called on rank threads, by several at once; every rank
  /// with the same dpIndex must be given the same values. `microBatch` is -1 in
  /// BEGIN and UPDATE segments. Scalars ("learning_rate", "step") come the same
  /// way: storeElement (Scalar.h) converts to the destination's dtype. May throw;
  /// must not allocate when the step is to be free of allocations.
  virtual void fill(std::string_view input, int64_t dpIndex, int64_t microBatch, TensorView destination) = 0;
};

/// What a step reported through OUTPUT instructions; NaN for what the plan does not report.
struct StepMetrics {
  double loss = std::numeric_limits<double>::quiet_NaN();
  double gradNorm = std::numeric_limits<double>::quiet_NaN();
  double tokenCount = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::pair<std::string, double>> byName; // sorted by name, all of them

  /// The metric of that name, or NaN.
  double value(std::string_view name) const;
};

struct JobOptions {
  int threadsPerRank = 1;
  bool pinThreads = false;      // rank r to core r mod cores
  int communicationThreads = 1; // per rank, 1 or 0, for collectives that the plan starts; 0: they run where they start
  double watchdogSeconds = 60;  // a step ends as stuck when no rank has passed an instruction for so long
  bool profile = false;
  int64_t tracedSteps = 0;          // the last steps of which events() tells every instruction
  KernelSet kernels;                // empty: the device's, else cpuKernels()
  DeviceOptions device = {};        // without a backend ranks compute on the host
  ProcessTeam *processes = nullptr; // that outlives the job; null: ranks are threads of this process
};

/// Time of one opcode on one rank, over all steps since the start or resetProfile().
struct ProfileEntry {
  std::string opcode; // kernel name, or "all_reduce", "send", "input"...; waiting included
  int64_t calls = 0;
  double seconds = 0;    // wall time
  double cpuSeconds = 0; // of the rank's own thread: other threads of a kernel and waiting are not in it
  double flops = 0;
  double bytes = 0;      // read and written
  bool inFlight = false; // beside the rank's own thread, on its communication thread
};

class Job {
public:
  explicit Job(plan::Plan plan, JobOptions options = {});
  ~Job();
  Job(const Job &) = delete;
  Job &operator=(const Job &) = delete;

  const plan::Plan &plan() const;
  int64_t ranks() const;

  /// Sets every variable to its first values. Collective.
  void initializeVariables();

  /// Runs one step on all ranks. The result is valid until the next step. Collective, and the same everywhere.
  const StepMetrics &runStep(StepInputs &inputs);

  // Of ranks that are processes, all collective; with threads they do nothing but run `body`, or say what is asked.

  /// Runs `body` in the process of rank 0 while all others wait: it may read all variables.
  void onFirstProcess(const std::function<void()> &body);
  /// Whether any process says yes.
  bool anySays(bool yes);
  /// Lets profile(), events() and highWaterBytes() know of all ranks.
  void exchangeReports();
  bool isFirstProcess() const;

  // Variables by name, between steps. Throws Error for an unknown name (naming
  // the nearest one) or a tensor of another shape or dtype.

  /// All names, sorted; a weight tied across stages is listed once.
  std::vector<std::string> variableNames() const;
  /// The plan's entry (the owner's, for a tied weight).
  const plan::Variable &variable(std::string_view name) const;
  /// Assembled from the owner stage's shards; addends are summed in rank order in f64.
  LogicalTensor readVariable(std::string_view name) const;
  /// To every shard and every copy; of addends, the first is set and the others zeroed. Of ranks that are processes
  /// each writes its own, and reads of all are right after the next collective call.
  void writeVariable(std::string_view name, const LogicalTensor &value);
  /// Throws Error naming the variable, ranks and element where two copies of a
  /// shard (replicas, tied weights) are not bit-equal.
  void verifyCopiesEqual() const;

  // Facts about the run.

  /// End of the last arena byte bound to an executed instruction, rounded up to
  /// 64 (the grain of the plan's regions). Equal to plannedBytes after a step.
  int64_t highWaterBytes(int64_t rank) const;
  int64_t plannedBytes(int64_t rank) const;
  /// "rank 3 (dp 0, pp 1, tp 1)".
  std::string describeRank(int64_t rank) const;
  /// Per opcode that was run, sorted by falling seconds; what was started apart, and its
  /// exposed part as "wait". Empty without JobOptions::profile.
  std::vector<ProfileEntry> profile(int64_t rank) const;
  void resetProfile();
  /// Every instruction of the last JobOptions::tracedSteps steps, by stream and time. Steps are numbered from 1.
  std::vector<InstructionEvent> events(int64_t rank) const;

  /// What each rank of this process holds of its device's memory; empty where ranks compute on the host.
  std::vector<std::string> deviceSummary() const;
  /// Captured pieces that were launched since the start, on all ranks of this process.
  int64_t replayedPieces() const;
  /// Instructions that one call does together on the devices of this process, over their segments and slots, by
  /// what they are ("linear, gelu").
  std::map<std::string, FusedCount> fusedCalls() const;

  /// After a JobFailure: whether this process alone knows the places of all ranks, and so should report it.
  bool foundStuck() const;

private:
  class Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_JOB_H
