//===- YamlText.h - what YAML files have in common ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_CLUSTER_YAMLTEXT_H
#define TGPT_COST_CLUSTER_YAMLTEXT_H

#include <stdexcept>
#include <string>
#include <yaml-cpp/yaml.h>

namespace tgpt::cost {

/// What is no YAML, and the line, counted from 1.
struct YamlTextError : std::runtime_error {
  YamlTextError(int line, const std::string &what) : std::runtime_error(what), line(line) {}
  int line;
};

/// The one document of a text; a null node where it has none. Throws YamlTextError for a second one, of which nobody
/// would read anything, and for what is no YAML.
YAML::Node soleDocument(const std::string &text);

/// A value in quotes, for an error: its first line, and no more than fits one.
std::string quotedValue(const std::string &value);
/// Any value for an error: a list as it would be written in one line, and no more than fits one.
std::string describedValue(const YAML::Node &node);

} // namespace tgpt::cost

#endif // TGPT_COST_CLUSTER_YAMLTEXT_H
