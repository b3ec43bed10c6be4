//===- MemoryReportJson.cpp - the memory report for programs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that the report knows. The page shows the same object.
//
//===----------------------------------------------------------------------===//

#include "compiler/report/MemoryReportJson.h"
#include "compiler/report/ScheduleTimes.h"
#include <algorithm>
#include <cmath>

using namespace tgpt;
using Json = nlohmann::ordered_json;

static Json liveItemJson(const LiveItem &item) {
  Json json = {{"name", item.name},   {"category", memoryCategoryNames[static_cast<size_t>(item.category)]},
               {"layer", item.layer}, {"op", item.op},
               {"line", item.line},   {"copies", item.copies},
               {"bytes", item.bytes}};
  if (!item.inputOf.empty()) {
    json["input_of"] = item.inputOf;
    json["input_line"] = item.inputLine;
  }
  return json;
}

static Json peakJson(const PeakMoment &peak) {
  Json live = Json::array();
  for (const LiveItem &item : peak.live)
    live.push_back(liveItemJson(item));
  return {{"bytes", peak.moment.bytes},
          {"schedule_entry", peak.moment.entry},
          {"instruction_index", peak.moment.instruction},
          {"segment", peak.segment},
          {"micro_batch", peak.microBatch},
          {"micro_batches_in_flight", peak.inFlight},
          {"instruction", peak.instruction},
          {"line", peak.line},
          {"live", live}};
}

/// Bytes of every instruction of every segment, and the schedule: with `resident_bytes`, what
/// is live at each moment is resident + kept_by_others of the entry + both of the instruction.
static Json timelineJson(const StageMemoryReport &stage, const std::vector<EntryTime> &times) {
  Json segments = Json::array(), entries = Json::array();
  for (int s = 0; s < stage.program->segments_size(); ++s) {
    Json activations = Json::array(), scratch = Json::array();
    for (const InstructionBytes &bytes : stage.liveness.profile(s)) {
      activations.push_back(bytes.activations);
      scratch.push_back(bytes.scratch);
    }
    std::string kind = plan::Segment::Kind_Name(stage.program->segments(s).kind());
    std::transform(kind.begin(), kind.end(), kind.begin(), [](unsigned char c) { return std::tolower(c); });
    segments.push_back({{"name", stage.program->segments(s).name()},
                        {"kind", kind},
                        {"activation_bytes", activations},
                        {"scratch_bytes", scratch}});
  }
  for (int e = 0; e < stage.program->schedule_size(); ++e) {
    const plan::ScheduleEntry &entry = stage.program->schedule(e);
    entries.push_back({entry.segment(), entry.micro_batch(), stage.liveness.keptByOthers()[e],
                       stage.liveness.microBatchesInFlight(e), std::llround(times[e].begin),
                       std::llround(times[e].end)});
  }
  return {{"resident_bytes", stage.liveness.residentBytes()},
          {"segments", segments},
          {"entry_fields", {"segment", "micro_batch", "kept_by_others", "in_flight", "begin", "end"}},
          {"entries", entries}};
}

static Json stageJson(const StageMemoryReport &stage, const std::vector<EntryTime> &times) {
  Json json = {{"stage", stage.stage}, {"ranks", stage.ranks}};
  for (size_t i = 0; i < memoryCategoryNames.size(); ++i)
    json[memoryCategoryNames[i]] = {{"bytes", stage.categories[i].bytes},
                                    {"live_bytes", stage.categories[i].liveBytes}};
  Json slots = Json::array(), slotBytes = Json::array(); // a number for each chunk
  for (const StageMemoryReport::Slots &chunk : stage.activationSlots) {
    slots.push_back(chunk.count);
    slotBytes.push_back(chunk.bytes);
  }
  json.update({{"activation_slots", slots},
               {"activation_slot_bytes", slotBytes},
               {"activation_pages", stage.pages.count},
               {"activation_page_bytes", stage.pages.bytes},
               {"activation_leaves", stage.leaves.count},
               {"activation_leaf_bytes", stage.leaves.bytes},
               {"activation_lot_bytes", stage.lotBytes},
               {"arena_bytes", stage.arenaBytes},
               {"live_bytes", stage.liveBytes()},
               {"held_parameters", stage.ledger.parameters},
               {"ledger_state_bytes", stage.ledger.bytes()},
               {"canonical_reduction_bytes", stage.ledger.canonicalBytes},
               {"flops", stage.flops},
               {"sent_exposed_bytes", stage.exposedBytes},
               {"sent_overlapped_bytes", stage.overlappedBytes},
               {"peak", peakJson(stage.peak)},
               {"timeline", timelineJson(stage, times)}});
  return json;
}

static Json whatIfJson(const WhatIf &line) {
  if (!line.refusal.empty())
    return {{"change", line.change}, {"refusal", line.refusal}};
  Json json = {{"change", line.change},
               {"arena_bytes", line.arenaBytes},
               {"flops", line.flops},
               {"sent_exposed_bytes", line.exposedBytes},
               {"sent_overlapped_bytes", line.overlappedBytes}};
  if (line.stepSeconds > 0)
    json["step_seconds"] = line.stepSeconds;
  return json;
}

Json tgpt::memoryReportObject(const MemoryReport &report) {
  Json stages = Json::array(), whatIf = Json::array(), outside = Json::array();
  std::vector<std::vector<EntryTime>> times = report.entryTimes;
  if (times.empty() && report.plan)
    times = scheduleTimesOf(*report.plan);
  for (size_t i = 0; i < report.stages.size(); ++i)
    stages.push_back(stageJson(report.stages[i], times[i]));
  for (const WhatIf &line : report.whatIf)
    whatIf.push_back(whatIfJson(line));
  for (const OutsideBytes &part : report.budget.outside)
    outside.push_back({{"what", part.what}, {"bytes", part.bytes}, {"source", part.source}});
  Json json = {{"model", report.model}, {"mesh", report.mesh}, {"options", report.plan ? report.plan->options() : ""}};
  json["schedule_unit"] = report.entryTimes.empty() ? "operations" : "nanoseconds";
  json["stages"] = stages;
  if (!report.whatIf.empty())
    json["what_if"] = whatIf;
  if (report.canonicalPrice)
    json["canonical_price"] = {{"canonical", whatIfJson(report.canonicalPrice->canonical)},
                               {"fast", whatIfJson(report.canonicalPrice->fast)}};
  if (!report.budget.device.empty())
    json["device"] = {{"name", report.budget.device}, {"bytes", report.budget.bytes}, {"outside", outside}};
  return json;
}

std::string tgpt::memoryReportJson(const MemoryReport &report) {
  return memoryReportObject(report).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}
