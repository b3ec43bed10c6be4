//===- Refinement.cpp - choices that closed forms can't tell apart ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/search/Refinement.h"
#include <algorithm>
#include <array>

namespace tgpt::search {
namespace {

/// Layers whose gradients a bucket of so many MiB holds: one at least, and no more than a stage has.
int64_t layersOfBucket(const Problem &problem, const Candidate &candidate, int64_t mib) {
  double ofLayer = problem.states.gradient * problem.shape.layerParameters() / static_cast<double>(candidate.tp);
  double ofStage = std::max(1.0, problem.shape.layers / static_cast<double>(candidate.pp * candidate.vpp));
  return static_cast<int64_t>(std::clamp(static_cast<double>(mib) * 0x1p20 / ofLayer, 1.0, ofStage));
}

void addBuckets(const Problem &problem, const Candidate &candidate, std::vector<Candidate> &others) {
  static constexpr std::array sizes = {25, 100, 400}; // MiB
  std::vector<int64_t> seen = {layersOfBucket(problem, candidate, candidate.bucketMib)};
  for (int64_t mib : sizes) {
    int64_t layers = layersOfBucket(problem, candidate, mib);
    if (std::find(seen.begin(), seen.end(), layers) != seen.end())
      continue;
    seen.push_back(layers);
    others.push_back(candidate);
    others.back().bucketMib = mib;
  }
}

/// Later than now nothing is faster, and more than two layers ahead no link is busier.
void addGathers(const Problem &problem, const Candidate &candidate, std::vector<Candidate> &others) {
  if (!candidate.overlap && problem.pins.overlap)
    return;
  Candidate other = candidate;
  other.overlap = true;
  if (problem.pins.prefetch) {
    other.prefetch = *problem.pins.prefetch;
    if (!candidate.overlap)
      others.push_back(other);
    return;
  }
  int64_t first = candidate.overlap ? candidate.prefetch + 1 : 0, last = candidate.overlap ? 2 : 1;
  for (other.prefetch = first; other.prefetch <= last; ++other.prefetch)
    others.push_back(other);
}

} // namespace

std::vector<Candidate> refinementsOf(const Problem &problem, const Candidate &candidate) {
  std::vector<Candidate> others;
  if (candidate.hasBuckets() && !problem.pins.bucketMib)
    addBuckets(problem, candidate, others);
  if (candidate.gathersParameters())
    addGathers(problem, candidate, others);
  return others;
}

std::optional<Candidate> smallerOf(const Problem &problem, const Candidate &candidate) {
  if (!candidate.gathersParameters() || !candidate.overlap || candidate.prefetch == 0 || problem.pins.prefetch)
    return std::nullopt;
  Candidate smaller = candidate;
  smaller.prefetch = 0;
  return smaller;
}

} // namespace tgpt::search
