//===- RunReports.cpp - what a run writes and prints at its end ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/TrainingRunImpl.h"

#include "runtime/checkpoint/WriteVariables.h"
#include "runtime/engine/JobFailure.h"
#include "runtime/trace/ChromeTrace.h"
#include "runtime/training/ArenaReport.h"
#include "runtime/training/PartTimes.h"

#include <cstdlib>
#include <map>

using namespace tgpt::runtime;
using namespace tgpt;

void TrainingRun::dump() {
  std::map<std::string, std::string> metadata = {{"model", state.model}, {"step", std::to_string(state.step)}};
  if (!options.dumpGradients.empty() && !(tokensOfLastStep > 0))
    throw Error("cannot write gradients of the mean loss: the plan counted no valid tokens in the last step");
  job->onFirstProcess([&] {
    if (!options.dumpGradients.empty())
      writeVariables(*job, gradientsOf(*job), options.dumpGradients, metadata, tokensOfLastStep * lossScaleOfLastStep);
    if (!options.dumpVariables.empty())
      writeVariables(*job, allVariablesOf(*job), options.dumpVariables, metadata);
  });
}

void TrainingRun::writeTrace() {
  if (options.trace.empty())
    return;
  job->exchangeReports();
  if (!isFirst())
    return;
  std::vector<InstructionEvent> events;
  for (int64_t rank = 0; rank < job->ranks(); ++rank)
    for (InstructionEvent &event : job->events(rank)) {
      event.step += firstStep - 1;
      events.push_back(event);
    }
  writeChromeTrace(options.trace, job->plan(), events, "measured");
  console.out << "trace: " << events.size() << " events in " << options.trace.string() << "\n";
}

void TrainingRun::report() {
  if (options.steps == 0)
    return;
  job->exchangeReports();
  if (options.profile)
    printPartTimes(*job, state.step + 1 - firstStep, console.out);
  int64_t differing = printArenaReport(*job, console.out);
  if (memory.ranks > 0 && !device) // most of a device's is not the host's
    printProcessMemory(memory, console.out);
  console.out << std::flush;
  if (differing > 0)
    throw Error("the arenas of " + std::to_string(differing) + " of " + std::to_string(job->ranks()) +
                " ranks did not use the bytes that the plan predicts");
}

void TrainingRun::reportFrom(const Error &error) {
  const auto *failure = dynamic_cast<const JobFailure *>(&error);
  std::string own = error.what();
  if (!failure)
    processes->fail(own);
  std::optional<TeamEnd> end = processes->ended();
  bool isFirstGone = end && end->kind != TeamEnd::Kind::Failed && end->rank == 0;
  // A process that alone knows where ranks were, or that nobody else speaks for, does not wait for rank 0.
  bool isPreferred = isFirst() || isFirstGone || (failure && job && job->foundStuck());
  bool isWithFirst = processes->neighbours().front() == 0; // else rank 0 prints, on its machine, what it was told
  if ((isWithFirst || isFirstGone) && processes->mayReport(isPreferred)) {
    bool isOwn =
        !failure && !isFirst() && !dynamic_cast<const TeamEnded *>(&error) && !beginsWithRank(own, identity->rank);
    console.report(isOwn ? Error("rank " + std::to_string(identity->rank) + ": " + own, error.details()) : error);
    processes->reported();
  } else {
    console.leaveUnsaid(error);
    processes->awaitReport();
  }
  if (failure && failure->hasLostThreads())
    std::_Exit(1); // a thread still uses what would now be taken down
  throw AlreadyReported();
}
