//===- PlanFile.h - compiled plans on disk ----------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file format of compiled.bin, all integers little-endian:
//
//   offset  bytes  field
//        0      8  magic "TGPTPLAN"
//        8      4  format version (planFormatVersion)
//       12      4  zero
//       16      8  payload bytes
//       24      8  FNV-1a 64 of the payload
//       32      .  payload: a serialised tgpt.plan.Plan
//
// Loading checks the container only; checkPlan (CheckPlan.h) checks the contents.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_PLAN_PLANFILE_H
#define TGPT_RUNTIME_PLAN_PLANFILE_H

#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tgpt::runtime {

/// Version of the file container and of Plan.format_version.
constexpr uint32_t planFormatVersion = 2;

/// Reads a plan. Throws Error naming the file and the numbers that disagree.
plan::Plan loadPlan(const std::string &path);

/// Writes a plan atomically: a temporary file in the same directory, then a
/// rename; the temporary file is removed on failure. Sets Plan.format_version
/// in the file where it is 0.
void savePlan(const plan::Plan &plan, const std::string &path);

/// The bytes of a plan file, and back; `source` names the bytes in errors.
std::string encodePlan(const plan::Plan &plan);
plan::Plan decodePlan(std::string_view bytes, const std::string &source);

/// FNV-1a, 64 bits: the checksum of plan files, and the key of an Initializer.
uint64_t fnv1a64(std::string_view bytes);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_PLAN_PLANFILE_H
