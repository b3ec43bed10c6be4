//===- ClusterFile.cpp - reads cluster files ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/ClusterFile.h"
#include "cost/DeviceText.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

using namespace tgpt;

namespace {

/// A map of the file, whose keys have been checked against those it may have.
class Section {
public:
  Section(const YAML::Node &node, std::string name, std::string fileName, const std::vector<std::string> &keys)
      : name(std::move(name)), fileName(std::move(fileName)), node(node) {
    if (!node.IsMap())
      fail(node, this->name + " is not a map; accepted: keys with values, like 'name: mine'");
    for (const auto &entry : node) {
      std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        fail(entry.first, "unknown key '" + key + "' in " + this->name + "; accepted: " + join(keys));
      auto [earlier, isFresh] = values.try_emplace(key, entry.second);
      if (!isFresh)
        fail(entry.first, key + " is given twice, first in line " + std::to_string(lineOf(earlier->second)));
    }
    for (const std::string &key : keys)
      if (!values.contains(key))
        fail(node, "key '" + key + "' is missing in " + this->name + "; needed: " + join(keys));
  }

  const YAML::Node &at(const std::string &key) const { return values.at(key); }

  /// A word for people, which other formats can hold as it is.
  std::string word(const std::string &key) const {
    auto isCharacter = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
    };
    std::string text = at(key).IsScalar() ? at(key).Scalar() : "";
    if (text.empty() || !std::all_of(text.begin(), text.end(), isCharacter))
      refuse(key, at(key), "letters, digits, '_', '-' and '.'");
    return text;
  }

  void read(const cost::DeviceField &field, double &figure) const { figure = number(field, at(field.key)); }

  void read(const cost::DeviceField &field, cost::ByDtype &figures) const {
    std::vector<std::string> dtypes(cost::dtypeNames.begin(), cost::dtypeNames.end());
    Section section(at(field.key), field.key, fileName, dtypes);
    for (size_t i = 0; i < dtypes.size(); ++i)
      figures.figures[i] = section.number(field, section.at(dtypes[i]));
  }

  void read(const cost::DeviceField &field, cost::EfficiencyCurve &curve) const {
    const YAML::Node &points = at(field.key);
    static const char *accepted =
        "a list of points [size, share] with sizes above 0 that ascend and shares from 0.0001 "
        "to 1, like [[1e9, 0.4], [1e11, 0.8]]";
    if (!points.IsSequence())
      refuse(field.key, points, accepted);
    for (const YAML::Node &point : points) {
      bool isPoint = point.IsSequence() && point.size() == 2 && point[0].IsScalar() && point[1].IsScalar();
      std::optional<double> size = isPoint ? cost::parseNumber(point[0].Scalar()) : std::nullopt;
      std::optional<double> share = isPoint ? cost::parseNumber(point[1].Scalar()) : std::nullopt;
      if (!size || !share)
        refuse(field.key, point, accepted);
      curve.points.push_back({*size, *share});
      if (!faultOf(curve).empty())
        refuse(field.key, point, accepted);
    }
    if (curve.points.empty())
      refuse(field.key, points, accepted);
  }

  [[noreturn]] void fail(const YAML::Node &where, const std::string &message) const {
    throw ClusterError(fileName + ":" + std::to_string(lineOf(where)) + ": " + message);
  }

private:
  static int lineOf(const YAML::Node &node) { return std::max(node.Mark().line, 0) + 1; }

  static std::string join(const std::vector<std::string> &words) {
    std::string joined;
    for (const std::string &word : words)
      joined += (joined.empty() ? "" : ", ") + word;
    return joined;
  }

  double number(const cost::DeviceField &field, const YAML::Node &value) const {
    std::optional<double> figure = value.IsScalar() ? cost::parseNumber(value.Scalar()) : std::nullopt;
    std::string fault = figure ? faultOf(field, *figure) : "expected a number";
    if (!fault.empty())
      refuse(field.key, value, fault.substr(std::string("expected ").size()) + " (" + field.meaning + ")");
    return *figure;
  }

  [[noreturn]] void refuse(const std::string &key, const YAML::Node &value, const std::string &accepted) const {
    std::string given = value.IsScalar() ? "'" + value.Scalar() + "'" : "not a single value";
    fail(value, key + " is " + (value.IsSequence() ? "a list" : given) + "; accepted: " + accepted);
  }

  std::string name, fileName;
  YAML::Node node;
  std::map<std::string, YAML::Node> values;
};

cost::DeviceProfile readDevice(const YAML::Node &node, const std::string &fileName) {
  std::vector<std::string> keys = {"name"};
  for (const cost::DeviceField &field : cost::deviceFields())
    keys.push_back(field.key);
  Section section(node, "device", fileName, keys);
  cost::DeviceProfile device;
  device.name = section.word("name");
  for (const cost::DeviceField &field : cost::deviceFields())
    std::visit([&](auto member) { section.read(field, device.*member); }, field.member);
  if (std::string fault = faultOf(device); !fault.empty())
    section.fail(section.at("reserved_bytes"), fault);
  return device;
}

} // namespace

Cluster tgpt::parseCluster(const std::string &text, const std::string &fileName) {
  try {
    YAML::Node root = YAML::Load(text);
    Section section(root, "the cluster", fileName, {"name", "device"});
    return {section.word("name"), readDevice(section.at("device"), fileName)};
  } catch (const YAML::Exception &error) {
    throw ClusterError(fileName + ":" + std::to_string(std::max(error.mark.line, 0) + 1) +
                       ": not valid YAML: " + error.msg);
  }
}

Cluster tgpt::readClusterFile(const std::filesystem::path &path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    throw ClusterError("no cluster file '" + path.string() + "'; recipes/clusters has some");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (std::filesystem::is_directory(path, error) || !file || !(text << file.rdbuf()))
    throw ClusterError("cannot read cluster file '" + path.string() + "': it is not a readable, non-empty file");
  return parseCluster(text.str(), path.string());
}
