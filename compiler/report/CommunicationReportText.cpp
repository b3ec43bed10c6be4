//===- CommunicationReportText.cpp - the exchanges for people and programs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formats only; what is counted is in CommunicationReport.cpp.
//
//===----------------------------------------------------------------------===//

#include "compiler/report/CommunicationReport.h"
#include "compiler/report/TextTable.h"
#include <cmath>
#include <nlohmann/json.hpp>

using namespace tgpt;

static std::string segmentText(plan::Segment::Kind kind) {
  switch (kind) {
  case plan::Segment::BEGIN: return "begin";
  case plan::Segment::FORWARD: return "forward";
  case plan::Segment::BACKWARD: return "backward";
  case plan::Segment::UPDATE: return "update";
  case plan::Segment::WEIGHT_GRADIENT: return "weight_gradient";
  default: return "unknown";
  }
}

std::string tgpt::communicationReportText(const CommunicationReport &report) {
  std::string text = "communication of each rank of " + report.model + " in a step, " + report.mesh + "\n";
  if (report.exchanges.empty())
    return text + "  none\n";
  std::vector<std::vector<std::string>> rows = {
      {"stage", "segment", "what", "with", "ranks", "calls", "payload", "sent by a rank"}};
  for (const Exchange &exchange : report.exchanges) {
    rows.push_back({std::to_string(exchange.stage), segmentText(exchange.segment), exchange.what, exchange.with,
                    std::to_string(exchange.ranks), std::to_string(exchange.calls), bytesText(exchange.payloadBytes),
                    bytesText(std::llround(exchange.sentBytes))});
  }
  return text + alignedTable(rows) + "payload: the larger of what a rank gives and gets; sent: by the algorithms " +
         "that are optimal in bandwidth\n";
}

std::string tgpt::communicationReportJson(const CommunicationReport &report) {
  nlohmann::ordered_json exchanges = nlohmann::ordered_json::array();
  for (const Exchange &exchange : report.exchanges)
    exchanges.push_back({{"stage", exchange.stage},
                         {"segment", segmentText(exchange.segment)},
                         {"what", exchange.what},
                         {"with", exchange.with},
                         {"ranks", exchange.ranks},
                         {"calls", exchange.calls},
                         {"payload_bytes", exchange.payloadBytes},
                         {"sent_bytes", exchange.sentBytes}});
  nlohmann::ordered_json json = {{"model", report.model}, {"mesh", report.mesh}, {"exchanges", exchanges}};
  return json.dump(2) + "\n";
}
