//===- JobReports.cpp - what the ranks of a job have measured ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/JobImpl.h"
#include "runtime/engine/RankReport.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace tgpt;
using namespace tgpt::runtime;

/// Every process gets what all ranks reported; also the end of the step for all of them.
void Job::Impl::exchangeMetrics(TaskMonitor &monitor) {
  const std::vector<ReportedMetric> &mine = reported[own.front()];
  std::vector<std::string> all =
      gather(std::string(reinterpret_cast<const char *>(mine.data()), mine.size() * sizeof(ReportedMetric)), &monitor);
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    std::memcpy(reported[rank].data(), all[rank].data(),
                std::min(all[rank].size(), metricNames.size() * sizeof(ReportedMetric)));
}

void Job::Impl::exchangeReports() {
  for (int64_t rank : own)
    touchedBytes[rank] = programs[rank]->touchedBytes();
  if (!options.processes)
    return;
  FieldWriter mine;
  mine.add(touchedBytes[own.front()]).add(encoded(profileOf(own.front()))).add(encoded(eventsOf(own.front())));
  std::vector<std::string> all = gather(mine.bytes());
  for (int64_t rank = 0; rank < grid.ranks(); ++rank) {
    FieldReader fields(all[rank]);
    touchedBytes[rank] = fields.number();
    elsewhere[rank] = decodedProfile(fields.text());
    eventsElsewhere[rank] = decodedEvents(fields.text());
  }
}

/// Of a rank of this process.
std::vector<ProfileEntry> Job::Impl::profileOf(int64_t rank) const {
  std::vector<ProfileEntry> entries;
  if (!options.profile)
    return entries;
  entries = programs[rank]->profile;
  if (hasCommunicationThreads) {
    const std::vector<ProfileEntry> &started = communication[rank]->profile;
    entries.insert(entries.end(), started.begin(), started.end());
  }
  std::erase_if(entries, [](const ProfileEntry &entry) { return entry.calls == 0; });
  std::stable_sort(entries.begin(), entries.end(),
                   [](const ProfileEntry &a, const ProfileEntry &b) { return a.seconds > b.seconds; });
  return entries;
}

/// Takes each metric from the first rank that reported it; all others must agree.
void Job::Impl::collectMetrics() {
  for (size_t m = 0; m < metricNames.size(); ++m) {
    int64_t first = -1;
    for (int64_t rank = 0; rank < grid.ranks(); ++rank) {
      const ReportedMetric &metric = reported[rank][m];
      if (!metric.reported)
        continue;
      if (first < 0) {
        first = rank;
        metrics.byName[m].second = metric.value;
      } else if (std::bit_cast<uint64_t>(metric.value) != std::bit_cast<uint64_t>(reported[first][m].value)) {
        failures.add(rank, "metric '" + metricNames[m] + "': it is " + std::to_string(metric.value) + " here, but " +
                               std::to_string(reported[first][m].value) + " on " + grid.describe(first));
        failures.throwIfAny();
      }
    }
  }
  metrics.loss = metrics.value("loss");
  metrics.gradNorm = metrics.value("grad_norm");
  metrics.tokenCount = metrics.value("token_count");
}

std::vector<InstructionEvent> Job::Impl::eventsOf(int64_t rank) const {
  std::vector<InstructionEvent> list;
  auto stage = static_cast<int>(grid.stageOf(rank));
  auto take = [&](const EventRing &ring, bool isBeside) {
    ring.forEach([&](const EventRing::Record &record, int64_t step) {
      InstructionEvent event{.rank = rank,
                             .step = step,
                             .stage = stage,
                             .entry = record.entry,
                             .instruction = record.instruction,
                             .beginSeconds = static_cast<double>(record.beginNanoseconds) * 1e-9,
                             .endSeconds = static_cast<double>(record.endNanoseconds) * 1e-9};
      if (isBeside)
        event.stream = event.instructionIn(plan).stream();
      list.push_back(event);
    });
  };
  if (!events.empty())
    take(*events[rank], false);
  if (hasCommunicationThreads && !events.empty())
    take(communication[rank]->events, true);
  return list;
}
