//===- YamlText.cpp - what YAML files have in common ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/cluster/YamlText.h"
#include <algorithm>
#include <cstddef>
#include <vector>
#include <yaml-cpp/depthguard.h>

namespace tgpt::cost {

static int lineOf(const YAML::Mark &mark) {
  return std::max(mark.line, 0) + 1;
}

/// Text of two or four bytes a character has zeros, and says so by how it begins.
static void refuseZeroBytes(const std::string &text) {
  bool isWide = text.starts_with("\xfe\xff") || text.starts_with("\xff\xfe") || text.starts_with(std::string(2, '\0'));
  std::size_t at = text.find('\0');
  if (!isWide && at != std::string::npos)
    throw YamlTextError(
        1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')),
        "a byte is 0, expected text");
}

YAML::Node soleDocument(const std::string &text) {
  refuseZeroBytes(text);
  try {
    std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1)
      throw YamlTextError(lineOf(documents[1].Mark()), "a second document begins, expected one (without '---' or "
                                                       "'...' between its lines)");
    return documents.empty() ? YAML::Node() : documents.front();
  } catch (const YAML::DeepRecursion &error) {
    throw YamlTextError(lineOf(error.mark), "maps and lists are nested too deeply, expected fewer than " +
                                                std::to_string(error.depth()) + " in each other");
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

// Lists may contain themselves, by aliases: the text grows with each of them, and ends it.
static void appendValue(const YAML::Node &node, std::string &text) {
  constexpr std::size_t most = 60;
  if (text.size() > most)
    return;
  if (!node.IsSequence()) {
    text += node.IsScalar() ? node.Scalar() : node.IsMap() ? "{...}" : "~";
    return;
  }
  text += "[";
  for (std::size_t i = 0; i < node.size() && text.size() <= most; ++i) {
    text += i > 0 ? ", " : "";
    appendValue(node[i], text);
  }
  text += "]";
}

std::string describedValue(const YAML::Node &node) {
  if (node.IsScalar())
    return quotedValue(node.Scalar());
  if (!node.IsSequence())
    return node.IsMap() ? "a map" : "empty";
  std::string text;
  appendValue(node, text);
  std::string quoted = quotedValue(text);
  return quoted.substr(1, quoted.size() - 2);
}

} // namespace tgpt::cost
