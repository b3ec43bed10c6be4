//===- ShardingRule.cpp - how an op may be sharded ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/interfaces/ShardingRule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cassert>

using namespace tgpt;

ShardingRule::Dims ShardingRule::dims(llvm::StringRef group) {
  ShardingRule::Dims dims;
  while (!group.empty()) {
    bool isProduct = group.consume_front("(");
    llvm::StringRef dim = isProduct ? group.take_until([](char c) { return c == ')'; }) : group.take_front(1);
    assert(!dim.empty() && llvm::all_of(dim, llvm::isAlpha) && "a dim is a letter, or letters in parentheses");
    group = group.drop_front(dim.size());
    [[maybe_unused]] bool isClosed = !isProduct || group.consume_front(")");
    assert(isClosed && "a product of factors ends with ')'");
    dims.push_back(dim.str());
  }
  return dims;
}

static llvm::SmallVector<ShardingRule::Dims> splitGroups(llvm::StringRef text) {
  llvm::SmallVector<ShardingRule::Dims> groups;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  for (llvm::StringRef part : parts)
    groups.push_back(ShardingRule::dims(part.trim()));
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

ShardingRule &ShardingRule::linearIn(llvm::ArrayRef<unsigned> operands) {
  linearity = Linearity::Each;
  linearOperands.assign(operands.begin(), operands.end());
  return *this;
}

ShardingRule &ShardingRule::granular(char factor, int64_t unitElements, llvm::StringRef unitName) {
  granularities.push_back({factor, unitElements, unitName.str()});
  return *this;
}

ShardingRule &ShardingRule::sized(char factor, int64_t entries, llvm::StringRef unitName) {
  sizes.push_back({factor, entries, unitName.str()});
  return *this;
}

std::string ShardingRule::factors() const {
  std::string seen;
  for (const auto *groups : {&operands, &results})
    for (const Dims &group : *groups)
      for (const std::string &dim : group)
        for (char factor : dim)
          if (seen.find(factor) == std::string::npos)
            seen += factor;
  return seen;
}

bool ShardingRule::contains(const Dims &tensor, char factor) {
  return llvm::any_of(tensor, [&](const std::string &dim) { return dim.find(factor) != std::string::npos; });
}

bool ShardingRule::isReduction(char factor) const {
  return llvm::none_of(results, [&](const Dims &result) { return contains(result, factor); });
}

bool ShardingRule::isReducedIn(char factor, const Dims &result) const {
  return !contains(result, factor) &&
         llvm::any_of(operands, [&](const Dims &operand) { return contains(operand, factor); });
}

int64_t ShardingRule::unitElements(char factor) const {
  for (const Granularity &granularity : granularities)
    if (granularity.factor == factor)
      return granularity.unitElements;
  return 1;
}

int64_t ShardingRule::unitElements(char factor, const Dims &tensor) const {
  return !tensor.empty() && tensor.back() == llvm::StringRef(&factor, 1) ? unitElements(factor) : 1;
}

const ShardingRule::Size *ShardingRule::sizeOf(char factor) const {
  auto *found = llvm::find_if(sizes, [&](const Size &size) { return size.factor == factor; });
  return found == sizes.end() ? nullptr : found;
}

bool ShardingRule::isLinearIn(unsigned operand) const {
  return linearity == Linearity::Joint || llvm::is_contained(linearOperands, operand);
}

std::string ShardingRule::text() const {
  auto tensorText = [](const Dims &tensor) {
    std::string text;
    for (const std::string &dim : tensor)
      text += dim.size() == 1 ? dim : "(" + dim + ")";
    return text;
  };
  auto groupsText = [&](llvm::ArrayRef<Dims> groups) { return llvm::join(llvm::map_range(groups, tensorText), ","); };
  return groupsText(operands) + "->" + groupsText(results);
}

std::string tgpt::leadingFactors(int64_t count) {
  std::string letters;
  for (int64_t i = 0; i < count; ++i)
    letters += static_cast<char>('a' + i);
  return letters;
}
