//===- DrawnStageProblem.cpp - random problems of cutting into stages ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/passes/DrawnStageProblem.h"
#include "test/unit/passes/SlowStageCut.h"
#include <algorithm>
#include <random>
#include <set>

using namespace tgpt;
using namespace tgpt::test;

static std::mt19937_64 generator(20260);

int64_t tgpt::test::draw(int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(generator);
}

static PartCost drawPart(int64_t most) {
  PartCost part;
  part.forwardNanoseconds = draw(0, most);
  part.backwardNanoseconds = draw(0, 3) == 0 ? 0 : draw(1, 2 * most);
  part.state = {draw(0, 20), draw(0, 20), draw(0, 60)};
  part.activationBytes = draw(0, 30);
  part.waitingBytes = draw(0, 2) == 0 ? 0 : draw(0, 40);
  part.growthBytes = std::max<int64_t>(part.waitingBytes - part.activationBytes, 0) + draw(0, 1) * draw(0, 20);
  part.scratchBytes = draw(0, 40);
  part.backwardBytes = part.growthBytes + draw(0, 40);
  part.updateBytes = draw(0, 40);
  return part;
}

/// Something that two or more parts of the problem share, no larger than what each of them counts.
static SharedBytes drawShared(StageProblem &problem) {
  std::set<int64_t> parts;
  while (parts.size() < 2 || draw(0, 2) == 0)
    parts.insert(draw(0, static_cast<int64_t>(problem.parts.size()) - 1));
  SharedBytes shared = {{parts.begin(), parts.end()}, {draw(0, 9), draw(0, 9), draw(0, 9)}, draw(0, 9)};
  for (int64_t part : parts) { // so that they count it
    problem.parts[part].state += shared.state;
    problem.parts[part].activationBytes += shared.activationBytes;
    problem.parts[part].waitingBytes += shared.activationBytes;
  }
  return shared;
}

StageProblem tgpt::test::drawProblem(int64_t layers, int64_t stages, int64_t chunks, bool isUniform) {
  StageProblem problem;
  bool hasPages = draw(0, 2) > 0, hasBoth = draw(0, 1) > 0;
  problem.stages = stages;
  problem.chunks = chunks;
  PartCost layer = drawPart(100);
  for (int64_t i = 0; i < layers + 2; ++i) {
    bool isLayer = i > 0 && i < layers + 1;
    problem.parts.push_back(isLayer && isUniform ? layer : drawPart(isLayer ? 100 : draw(1, 300)));
  }
  for (int64_t count = draw(0, 3); !isUniform && count > 0; --count)
    problem.shared.push_back(drawShared(problem));
  problem.messageBytes = draw(0, 10);
  for (int64_t v = 0; v < stages * chunks; ++v)
    problem.inFlight.slots.push_back(draw(1, 6));
  for (int64_t stage = 0; stage < stages && hasPages; ++stage) {
    int64_t most = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      most += problem.inFlight.slots[chunk * stages + stage];
    problem.inFlight.pages.push_back(draw(1, most));
    if (chunks == 1 && hasBoth)
      problem.inFlight.untilBackward.push_back(draw(1, most));
    if (chunks == 1)
      continue;
    std::vector<HeldAtOnce> &moments = problem.inFlight.moments.emplace_back();
    for (int64_t count = draw(1, 4); count > 0; --count)
      for (HeldAtOnce &moment = moments.emplace_back(); static_cast<int64_t>(moment.size()) < chunks;) {
        int64_t least = moments.size() == 1; // of each chunk a micro-batch is held at some time
        moment.push_back({draw(least, 3), draw(0, 1), hasBoth ? draw(0, 3) : 0});
      }
  }
  return problem;
}

int64_t tgpt::test::drawLimit(const StageProblem &problem) {
  std::vector<int64_t> bytes;
  eachCut(problem.layers(), problem.virtualStages(),
          [&](const std::vector<int64_t> &cut) { bytes.push_back(judge(problem, cut).bytes); });
  std::sort(bytes.begin(), bytes.end());
  return draw(0, 9) == 0 ? std::max<int64_t>(bytes.front() - draw(1, 20), 1)
                         : bytes[draw(0, std::min<int64_t>(bytes.size() - 1, 1 + bytes.size() / 4))];
}
