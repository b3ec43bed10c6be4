//===- FuzzPlan.h - random damage to a plan ---------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_PLAN_FUZZPLAN_H
#define TGPT_TEST_UNIT_PLAN_FUZZPLAN_H

#include "runtime/plan/plan.pb.h"

#include <random>
#include <string>

namespace tgpt::test {

/// A plan file whose payload is `payload` with one to four bytes changed; header and checksum are right.
std::string withDamagedBytes(std::string payload, std::mt19937_64 &random);

/// Sets one random field, anywhere in the message, to a small, extreme or slightly changed value.
void damageRandomField(google::protobuf::Message &message, std::mt19937_64 &random);

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_PLAN_FUZZPLAN_H
