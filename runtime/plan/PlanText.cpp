//===- PlanText.cpp - naming parts of a plan in messages --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one style in which the checker and the engine name places in a plan.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/PlanText.h"

#include <algorithm>
#include <numeric>

using namespace tgpt;
using namespace tgpt::runtime;

std::string tgpt::runtime::dtypeText(plan::DType dtype) {
  switch (dtype) {
  case plan::F64: return "f64";
  case plan::F32: return "f32";
  case plan::BF16: return "bf16";
  case plan::F16: return "f16";
  case plan::I32: return "i32";
  default: return "dtype " + std::to_string(static_cast<int>(dtype));
  }
}

std::string tgpt::runtime::tensorText(plan::DType dtype, std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "] " + dtypeText(dtype);
}

std::string tgpt::runtime::tensorText(const plan::Buffer &buffer) {
  return tensorText(buffer.dtype(), {buffer.shape().data(), static_cast<size_t>(buffer.shape_size())});
}

std::string tgpt::runtime::regionText(const plan::StageProgram &stage, int index) {
  return "region " + std::to_string(index) + " (" + plan::Region::Kind_Name(stage.regions(index).kind()) + ")";
}

std::string tgpt::runtime::instructionText(const plan::Instruction &instruction) {
  auto withOpcode = [&](std::string text) {
    return instruction.opcode().empty() ? text : text + " " + instruction.opcode();
  };
  switch (instruction.kind()) {
  case plan::Instruction::KERNEL: return instruction.opcode();
  case plan::Instruction::ALL_REDUCE: return withOpcode("all_reduce");
  case plan::Instruction::ALL_GATHER: return "all_gather";
  case plan::Instruction::REDUCE_SCATTER: return withOpcode("reduce_scatter");
  case plan::Instruction::ALL_TO_ALL: return "all_to_all";
  case plan::Instruction::SEND: return "send";
  case plan::Instruction::RECV: return "recv";
  case plan::Instruction::INPUT: return withOpcode("input");
  case plan::Instruction::OUTPUT: return withOpcode("output");
  case plan::Instruction::WAIT: return "wait for event " + std::to_string(instruction.event());
  default: return "instruction kind " + std::to_string(static_cast<int>(instruction.kind()));
  }
}

std::string tgpt::runtime::instructionAndLocation(const plan::Plan &plan, const plan::Instruction &instruction) {
  std::string text = instructionText(instruction);
  if (instruction.location() > 0 && instruction.location() < static_cast<uint32_t>(plan.locations_size()))
    text += ", " + plan.locations(instruction.location());
  return text;
}

std::string tgpt::runtime::instructionPlace(const plan::Plan &plan, const plan::StageProgram &stage, int segment,
                                            int instruction) {
  const plan::Segment &in = stage.segments(segment);
  return "stage " + std::to_string(stage.stage()) + ", segment '" + in.name() + "', instruction " +
         std::to_string(instruction) + " (" + instructionAndLocation(plan, in.instructions(instruction)) + ")";
}

static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string tgpt::runtime::nearestName(std::string_view word, const std::vector<std::string> &candidates) {
  // A name of many kilobytes (a damaged file) is not worth a quadratic search.
  word = word.substr(0, 100);
  auto nearest = std::min_element(candidates.begin(), candidates.end(), [&](const auto &a, const auto &b) {
    return editDistance(word, a) < editDistance(word, b);
  });
  return nearest == candidates.end() ? "" : *nearest;
}
