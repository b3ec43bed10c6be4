//===- CompileFlags.h - the compile flags of tgpt-opt ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TOOLS_TGPT_OPT_COMPILEFLAGS_H
#define TGPT_TOOLS_TGPT_OPT_COMPILEFLAGS_H

#include "compiler/driver/CompileOptions.h"
#include "compiler/report/MemoryReport.h"
#include "cost/cluster/Cluster.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace tgpt {

/// What the command line asks for, beyond the flags of mlir-opt.
struct CompileRequest {
  CompileOptions options;
  std::string lastPhase = "plan";
  bool isRequested = false;                     ///< some compile flag was given
  std::string memoryReport;                     ///< "text", "json", "html" or "none"
  bool asksForReport = false;                   ///< of a plan: of memory, by a flag, or of communication
  std::string memoryReportBy;                   ///< "category", "layer", "op" or empty
  int64_t memoryReportTop = 0;                  ///< largest buffers to list
  bool memoryWhatIf = false;                    ///< compile other choices too, and compare
  std::string communicationReport;              ///< "text", "json" or "none"
  std::string printSchedule;                    ///< "text", "json" or, not asked for, "none"
  std::string stageReport;                      ///< "text", "json" or "none"
  std::string cluster;                          ///< a cluster file, or empty
  std::optional<cost::Cluster> figures;         ///< what the file says
  DeviceBudget budget;                          ///< the memory of its device
  double memoryGib = 0;                         ///< limit of a rank
  bool givesMemoryGib = false;                  ///< --memory-gib was given
  std::optional<int64_t> productWorkspaceBytes; ///< as given
  bool givesGlobalBatch = false;                ///< --global-batch was given
  bool givesPrefetch = false;                   ///< --prefetch was given
  std::string lossScale;                        ///< as given, or empty
  std::string lossScaleTuning;                  ///< the first flag given that tunes a dynamic loss scale, or empty
  std::string flags;                            ///< the compile flags as given, for the plan's header
};

/// Without -o, reports that are asked for are all that is written.
inline bool onlyReports(const CompileRequest &request, llvm::StringRef output) {
  return output == "-" && request.lastPhase == "plan" && request.asksForReport;
}

/// Makes the flags known to the command-line parser. Call before parsing.
void registerCompileFlags();
/// Reads the flags. Call after parsing.
CompileRequest readCompileFlags();

} // namespace tgpt

#endif // TGPT_TOOLS_TGPT_OPT_COMPILEFLAGS_H
