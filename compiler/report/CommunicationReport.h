//===- CommunicationReport.h - what the ranks of a plan exchange ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counted over the schedule of the plan itself. Ranks of one pipeline stage exchange
// the same, so there is a line for each stage, kind of segment, collective and group.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_REPORT_COMMUNICATIONREPORT_H
#define TGPT_COMPILER_REPORT_COMMUNICATIONREPORT_H

#include "runtime/plan/plan.pb.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tgpt {

/// One kind of exchange, over a step.
struct Exchange {
  int64_t stage = 0;
  plan::Segment::Kind segment = plan::Segment::KIND_UNSPECIFIED;
  std::string what; ///< "all_reduce sum", "send"
  std::string with; ///< axes of the group, "dp tp", or "stage 1" or "itself"
  int64_t ranks = 0;
  int64_t calls = 0;        ///< by one rank in a step
  int64_t payloadBytes = 0; ///< of all calls: the larger of what a rank gives and gets
  /// Bytes that a rank puts on the wire, over all calls, under the algorithms that are
  /// optimal in bandwidth (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69, 2009): of a
  /// payload of n bytes among g ranks all_reduce sends 2 n (g-1)/g, all_gather,
  /// reduce_scatter and all_to_all n (g-1)/g, a send n.
  double sentBytes = 0;
  double overlappedBytes = 0; ///< of these: by calls that run beside computation
};

struct CommunicationReport {
  std::string model;
  std::string mesh; ///< "dp=2 pp=2 tp=2"
  std::vector<Exchange> exchanges;
};

/// The report of a plan that the plan checker accepts.
CommunicationReport communicationReportOf(const plan::Plan &plan);

/// A table for people, ending in a newline.
std::string communicationReportText(const CommunicationReport &report);
/// One JSON object, all sizes in bytes, ending in a newline.
std::string communicationReportJson(const CommunicationReport &report);

} // namespace tgpt

#endif // TGPT_COMPILER_REPORT_COMMUNICATIONREPORT_H
