//===- ShardingRule.cpp - how an op may be sharded ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/interfaces/ShardingRule.h"

using namespace tgpt;

static llvm::SmallVector<std::string> splitGroups(llvm::StringRef text) {
  llvm::SmallVector<std::string> groups;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  for (llvm::StringRef part : parts)
    groups.push_back(part.trim().str());
  return groups;
}

ShardingRule ShardingRule::parse(llvm::StringRef einsum) {
  auto [left, right] = einsum.split("->");
  ShardingRule rule;
  rule.operands = splitGroups(left);
  rule.results = splitGroups(right);
  return rule;
}

ShardingRule &ShardingRule::block(llvm::StringRef factors) {
  blocked += factors;
  return *this;
}

ShardingRule &ShardingRule::joint() {
  linearity = Linearity::Joint;
  return *this;
}

ShardingRule &ShardingRule::reduceMax() {
  reduction = Reduction::Max;
  return *this;
}

ShardingRule &ShardingRule::granular(char factor, int64_t unitElements, llvm::StringRef unitName) {
  granularities.push_back({factor, unitElements, unitName.str()});
  return *this;
}

std::string ShardingRule::factors() const {
  std::string seen;
  for (const auto *groups : {&operands, &results})
    for (const std::string &group : *groups)
      for (char factor : group)
        if (seen.find(factor) == std::string::npos)
          seen += factor;
  return seen;
}

bool ShardingRule::isReduction(char factor) const {
  for (const std::string &group : results)
    if (group.find(factor) != std::string::npos)
      return false;
  return true;
}

bool ShardingRule::isReducedIn(char factor, llvm::StringRef resultGroup) const {
  if (resultGroup.contains(factor))
    return false;
  for (const std::string &group : operands)
    if (group.find(factor) != std::string::npos)
      return true;
  return false;
}

int64_t ShardingRule::unitElements(char factor) const {
  for (const Granularity &granularity : granularities)
    if (granularity.factor == factor)
      return granularity.unitElements;
  return 1;
}

int64_t ShardingRule::unitElements(char factor, llvm::StringRef group) const {
  return group.ends_with(llvm::StringRef(&factor, 1)) ? unitElements(factor) : 1;
}

std::string tgpt::leadingFactors(int64_t count) {
  std::string letters;
  for (int64_t i = 0; i < count; ++i)
    letters += static_cast<char>('a' + i);
  return letters;
}
