//===- TgptOps.td - all ops of the dialect ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
include "dialects/tgpt/ProgramOps.td"
include "dialects/tgpt/ModelOps.td"
include "dialects/tgpt/BackwardOps.td"
include "dialects/tgpt/TrainingOps.td"
