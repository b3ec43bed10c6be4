//===- RankReport.h - what processes tell each other of their ranks ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_RANKREPORT_H
#define TGPT_RUNTIME_ENGINE_RANKREPORT_H

#include "runtime/engine/Job.h"

#include <string>
#include <vector>

namespace tgpt::runtime {

/// As bytes for ProcessTeam::gather, and back.
std::string encoded(const std::vector<ProfileEntry> &profile);
std::string encoded(const std::vector<InstructionEvent> &events);
std::vector<ProfileEntry> decodedProfile(const std::string &bytes);
std::vector<InstructionEvent> decodedEvents(const std::string &bytes);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_RANKREPORT_H
