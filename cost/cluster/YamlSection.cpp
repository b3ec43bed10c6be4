//===- YamlSection.cpp - a map of a cluster file, read strictly ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/cluster/YamlSection.h"
#include "cost/DeviceText.h"
#include "cost/cluster/ClusterFile.h"
#include "cost/cluster/YamlText.h"
#include <algorithm>
#include <limits>

namespace tgpt::cost {
namespace {

int lineOf(const YAML::Node &node) {
  return std::max(node.Mark().line, 0) + 1;
}

std::string join(const std::vector<std::string> &words) {
  std::string joined;
  for (const std::string &word : words)
    joined += (joined.empty() ? "" : ", ") + word;
  return joined;
}

} // namespace

YamlSection::YamlSection(const YAML::Node &node, std::string name, std::string fileName,
                         const std::vector<std::string> &required, const std::vector<std::string> &optional)
    : name(std::move(name)), fileName(std::move(fileName)) {
  if (!node.IsMap())
    fail(node, this->name + " is not a map; accepted: keys with values, like 'name: mine'");
  std::vector<std::string> keys = required;
  keys.insert(keys.end(), optional.begin(), optional.end());
  for (const auto &entry : node) {
    std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      fail(entry.first, "unknown key '" + key + "' in " + this->name + "; accepted: " + join(keys));
    auto [earlier, isFresh] = keyLines.try_emplace(key, lineOf(entry.first));
    if (!isFresh)
      fail(entry.first, key + " is given twice, first in line " + std::to_string(earlier->second));
    values.try_emplace(key, entry.second);
  }
  for (const std::string &key : required)
    if (!values.contains(key))
      fail(node, "key '" + key + "' is missing in " + this->name + "; needed: " + join(required));
}

std::string YamlSection::word(const std::string &key) const {
  auto isCharacter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  };
  std::string text = at(key).IsScalar() ? at(key).Scalar() : "";
  if (text.empty() || !std::all_of(text.begin(), text.end(), isCharacter))
    refuse(key, at(key), "letters, digits, '_', '-' and '.'");
  return text;
}

double YamlSection::number(const std::string &key, FigureRange range, const char *meaning) const {
  const YAML::Node &value = at(key);
  std::optional<double> figure = value.IsScalar() ? parseNumber(value.Scalar()) : std::nullopt;
  if (!figure || !isWithin(range, *figure))
    refuse(key, value, std::string(wordsOf(range)) + " (" + meaning + ")");
  return *figure;
}

bool YamlSection::truth(const std::string &key, const char *meaning) const {
  const YAML::Node &value = at(key);
  std::string text = value.IsScalar() ? value.Scalar() : "";
  if (text != "true" && text != "false")
    refuse(key, value, std::string("true or false (") + meaning + ")");
  return text == "true";
}

double YamlSection::deviceNumber(const DeviceField &field, const std::string &key) const {
  const YAML::Node &value = at(key);
  std::optional<double> figure = value.IsScalar() ? parseNumber(value.Scalar()) : std::nullopt;
  double number = figure.value_or(std::numeric_limits<double>::quiet_NaN());
  std::string fault = faultOf(field, number);
  if (!fault.empty())
    refuse(field.key, value, fault.substr(std::string("expected ").size()) + " (" + field.meaning + ")");
  return number;
}

void YamlSection::read(const DeviceField &field, double &figure) const {
  figure = deviceNumber(field, field.key);
}

void YamlSection::read(const DeviceField &field, ByDtype &figures) const {
  std::vector<std::string> dtypes(dtypeNames.begin(), dtypeNames.end());
  YamlSection section(at(field.key), field.key, fileName, dtypes);
  for (size_t i = 0; i < dtypes.size(); ++i)
    figures.figures[i] = section.deviceNumber(field, dtypes[i]);
}

void YamlSection::read(const DeviceField &field, EfficiencyCurve &curve) const {
  const YAML::Node &points = at(field.key);
  static const char *accepted = "a list of points [size, share] with sizes above 0 that ascend and shares from 0.0001 "
                                "to 1, like [[1e9, 0.4], [1e11, 0.8]]";
  if (!points.IsSequence())
    refuse(field.key, points, accepted);
  for (const YAML::Node &point : points) {
    bool isPoint = point.IsSequence() && point.size() == 2 && point[0].IsScalar() && point[1].IsScalar();
    std::optional<double> size = isPoint ? parseNumber(point[0].Scalar()) : std::nullopt;
    std::optional<double> share = isPoint ? parseNumber(point[1].Scalar()) : std::nullopt;
    if (!size || !share)
      refuse(field.key, point, accepted);
    curve.points.push_back({*size, *share});
    if (!faultOf(curve).empty())
      refuse(field.key, point, accepted);
  }
  if (curve.points.empty())
    refuse(field.key, points, accepted);
}

void YamlSection::fail(const YAML::Node &where, const std::string &message) const {
  throw ClusterError(fileName + ":" + std::to_string(lineOf(where)) + ": " + message);
}

// A value that is empty ends where the next key begins.
void YamlSection::refuse(const std::string &key, const YAML::Node &value, const std::string &accepted) const {
  std::string message = key + " is " + describedValue(value) + "; accepted: " + accepted;
  auto line = keyLines.find(key);
  if (value.IsNull() && line != keyLines.end())
    throw ClusterError(fileName + ":" + std::to_string(line->second) + ": " + message);
  fail(value, message);
}

} // namespace tgpt::cost
