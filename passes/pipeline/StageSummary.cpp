//===- StageSummary.cpp - a cut and its costs, for reports ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageSummary.h"

using namespace tgpt;

const std::vector<RankFigure> &tgpt::rankFigures() {
  static const std::vector<RankFigure> figures = {
      {"forward_nanoseconds", [](RankCost &rank) -> int64_t & { return rank.forwardNanoseconds; }},
      {"backward_nanoseconds", [](RankCost &rank) -> int64_t & { return rank.backwardNanoseconds; }},
      {"collective_nanoseconds", [](RankCost &rank) -> int64_t & { return rank.collectiveNanoseconds; }},
      {"parameter_bytes", [](RankCost &rank) -> int64_t & { return rank.state.parameters; }},
      {"gradient_bytes", [](RankCost &rank) -> int64_t & { return rank.state.gradients; }},
      {"optimizer_bytes", [](RankCost &rank) -> int64_t & { return rank.state.optimizer; }},
      {"activation_bytes", [](RankCost &rank) -> int64_t & { return rank.activationBytes; }},
      {"scratch_bytes", [](RankCost &rank) -> int64_t & { return rank.scratchBytes; }},
      {"message_bytes", [](RankCost &rank) -> int64_t & { return rank.messageBytes; }},
  };
  return figures;
}

std::string tgpt::ofChunks(const std::vector<int64_t> &ofVirtualStages, int64_t stage, int64_t stages) {
  std::string text;
  for (size_t v = stage; v < ofVirtualStages.size(); v += stages)
    text += (text.empty() ? "" : "+") + std::to_string(ofVirtualStages[v]);
  return text;
}
