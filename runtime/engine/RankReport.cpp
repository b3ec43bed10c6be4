//===- RankReport.cpp - what processes tell each other of their ranks ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/RankReport.h"
#include "runtime/launch/Frames.h"

#include <bit>
#include <cstring>
#include <type_traits>

using namespace tgpt;
using namespace tgpt::runtime;

std::string tgpt::runtime::encoded(const std::vector<ProfileEntry> &profile) {
  FieldWriter fields;
  for (const ProfileEntry &entry : profile) {
    fields.add(entry.opcode).add(entry.calls).add(static_cast<int64_t>(entry.inFlight));
    for (double value : {entry.seconds, entry.cpuSeconds, entry.flops, entry.bytes})
      fields.add(std::bit_cast<int64_t>(value));
  }
  return fields.bytes();
}

std::vector<ProfileEntry> tgpt::runtime::decodedProfile(const std::string &bytes) {
  std::vector<ProfileEntry> profile;
  FieldReader fields(bytes);
  while (true) {
    ProfileEntry entry;
    entry.opcode = fields.text();
    entry.calls = fields.number();
    entry.inFlight = fields.number() != 0;
    for (double *value : {&entry.seconds, &entry.cpuSeconds, &entry.flops, &entry.bytes})
      *value = std::bit_cast<double>(fields.number());
    if (!fields.isGood())
      return profile;
    profile.push_back(std::move(entry));
  }
}

// Processes of one program: the bytes mean the same to all.
std::string tgpt::runtime::encoded(const std::vector<InstructionEvent> &events) {
  static_assert(std::is_trivially_copyable_v<InstructionEvent>);
  return {reinterpret_cast<const char *>(events.data()), events.size() * sizeof(InstructionEvent)};
}

std::vector<InstructionEvent> tgpt::runtime::decodedEvents(const std::string &bytes) {
  std::vector<InstructionEvent> events(bytes.size() / sizeof(InstructionEvent));
  if (!events.empty())
    std::memcpy(events.data(), bytes.data(), events.size() * sizeof(InstructionEvent));
  return events;
}
