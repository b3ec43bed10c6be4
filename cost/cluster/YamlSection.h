//===- YamlSection.h - a map of a cluster file, read strictly ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_CLUSTER_YAMLSECTION_H
#define TGPT_COST_CLUSTER_YAMLSECTION_H

#include "cost/cluster/ClusterFields.h"
#include <map>
#include <yaml-cpp/yaml.h>

namespace tgpt::cost {

/// A map of a file, whose keys are all known and there once. What does not fit throws ClusterError with file and line.
class YamlSection {
public:
  /// `required` keys must be there, `optional` ones may.
  YamlSection(const YAML::Node &node, std::string name, std::string fileName, const std::vector<std::string> &required,
              const std::vector<std::string> &optional = {});

  bool has(const std::string &key) const { return values.contains(key); }
  const YAML::Node &at(const std::string &key) const { return values.at(key); }
  /// A word for people, which other formats can hold as it is.
  std::string word(const std::string &key) const;
  double number(const std::string &key, FigureRange range, const char *meaning) const;

  void read(const DeviceField &field, double &figure) const;
  void read(const DeviceField &field, ByDtype &figures) const;
  void read(const DeviceField &field, EfficiencyCurve &curve) const;

  /// The keys of a table.
  template <typename Owner>
  static std::vector<std::string> keysOf(const std::vector<ClusterField<Owner>> &fields, bool optional) {
    std::vector<std::string> keys;
    for (const ClusterField<Owner> &field : fields)
      if (field.isOptional == optional)
        keys.push_back(field.key);
    return keys;
  }
  /// Reads what is there of a table; the rest stays as it is.
  template <typename Owner> void read(const std::vector<ClusterField<Owner>> &fields, Owner &owner) const {
    for (const ClusterField<Owner> &field : fields)
      if (has(field.key)) {
        if (auto number = std::get_if<double Owner::*>(&field.member))
          owner.**number = this->number(field.key, field.range, field.meaning);
        else
          owner.*std::get<bool Owner::*>(field.member) = truth(field.key, field.meaning);
      }
  }

  [[noreturn]] void fail(const YAML::Node &where, const std::string &message) const;
  /// The value of `key` is not one of those accepted.
  [[noreturn]] void refuse(const std::string &key, const YAML::Node &value, const std::string &accepted) const;

private:
  bool truth(const std::string &key, const char *meaning) const;
  double deviceNumber(const DeviceField &field, const std::string &key) const;

  std::string name, fileName;
  std::map<std::string, YAML::Node> values;
  std::map<std::string, int> keyLines;
};

} // namespace tgpt::cost

#endif // TGPT_COST_CLUSTER_YAMLSECTION_H
