//===- YamlText.cpp - what YAML files have in common ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/cluster/YamlText.h"
#include <algorithm>
#include <vector>

namespace tgpt::cost {

static int lineOf(const YAML::Mark &mark) {
  return std::max(mark.line, 0) + 1;
}

YAML::Node soleDocument(const std::string &text) {
  try {
    std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1)
      throw YamlTextError(lineOf(documents[1].Mark()), "a second document begins, expected one (without '---' or "
                                                       "'...' between its lines)");
    return documents.empty() ? YAML::Node() : documents.front();
  } catch (const YAML::Exception &error) {
    throw YamlTextError(lineOf(error.mark), "not valid YAML: " + error.msg);
  }
}

std::string quotedValue(const std::string &value) {
  constexpr std::size_t most = 60;
  std::size_t end = std::min({value.find('\n'), value.find('\r'), value.size()});
  bool isWhole = end == value.size() && end <= most;
  return "'" + value.substr(0, std::min(end, most)) + (isWhole ? "'" : "...'");
}

} // namespace tgpt::cost
