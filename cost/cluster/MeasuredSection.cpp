//===- MeasuredSection.cpp - the measured rates of a cluster file ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/cluster/MeasuredSection.h"
#include "cost/DeviceText.h"
#include "cost/cluster/YamlSection.h"
#include <algorithm>

namespace tgpt::cost {
namespace {

double readRate(const YamlSection &section, const std::string &key) {
  const YAML::Node &value = section.at(key);
  double figure = value.IsScalar() ? parseNumber(value.Scalar()).value_or(-1) : -1;
  std::string fault = faultOfRate(figure);
  if (!fault.empty())
    section.refuse(key, value, fault.substr(std::string("expected ").size()) + " (seconds)");
  return figure;
}

/// The keys of a map whose keys are names of things.
std::vector<std::string> keysOf(const YAML::Node &node) {
  std::vector<std::string> keys;
  if (node.IsMap())
    for (const auto &entry : node)
      keys.push_back(entry.first.IsScalar() ? entry.first.Scalar() : "");
  return keys;
}

MeasuredRates::ByDtype readKernel(const YAML::Node &node, const std::string &kernel, const std::string &fileName) {
  YamlSection section(node, kernel, fileName, {}, {dtypeNames.begin(), dtypeNames.end()});
  MeasuredRates::ByDtype rates;
  for (size_t i = 0; i < dtypeNames.size(); ++i)
    if (section.has(dtypeNames[i])) {
      YamlSection rate(section.at(dtypeNames[i]), kernel + " in " + dtypeNames[i], fileName,
                       {"call_seconds", "seconds_per_operation", "seconds_per_byte", "seconds_per_item"});
      rates[i] = {readRate(rate, "call_seconds"), readRate(rate, "seconds_per_operation"),
                  readRate(rate, "seconds_per_byte"), readRate(rate, "seconds_per_item")};
    }
  return rates;
}

std::vector<ExchangeRate> readExchange(const YamlSection &exchanges, const std::string &name,
                                       const std::string &fileName) {
  const YAML::Node &list = exchanges.at(name);
  std::vector<ExchangeRate> rates;
  if (!list.IsSequence() || list.size() == 0)
    exchanges.refuse(name, list,
                     "rates of numbers of ranks, like [{ranks: 2, latency_seconds: 1e-6, "
                     "seconds_per_byte: 5e-11}]");
  for (const YAML::Node &node : list) {
    YamlSection rate(node, name, fileName, {"ranks", "latency_seconds", "seconds_per_byte"});
    double ranks = rate.number("ranks", FigureRange::Count, "ranks that take part");
    double least = rates.empty() ? 2 : rates.back().ranks + 1;
    if (ranks < least)
      rate.refuse("ranks", rate.at("ranks"),
                  "numbers of ranks that ascend, here " + std::to_string(static_cast<long long>(least)) + " or more");
    rates.push_back({ranks, readRate(rate, "latency_seconds"), readRate(rate, "seconds_per_byte")});
  }
  return rates;
}

} // namespace

MeasuredRates readMeasured(const YAML::Node &node, const std::string &fileName) {
  YamlSection section(node, "measured", fileName, {"step_seconds", "step_rank_seconds", "kernels", "exchanges"},
                      {"busy_cores_share"});
  MeasuredRates measured;
  measured.stepSeconds = readRate(section, "step_seconds");
  measured.stepRankSeconds = readRate(section, "step_rank_seconds");
  if (section.has("busy_cores_share"))
    measured.busyCoresShare = section.number("busy_cores_share", FigureRange::Share, "that kernels take longer");
  // The names of kernels are the runtime's: a simulation checks them.
  std::vector<std::string> names = keysOf(section.at("kernels"));
  YamlSection kernels(section.at("kernels"), "kernels", fileName, {}, names);
  for (const std::string &kernel : names)
    measured.kernels[kernel] = readKernel(kernels.at(kernel), kernel, fileName);
  YamlSection exchanges(section.at("exchanges"), "exchanges", fileName, {}, exchangeNames());
  for (const std::string &name : exchangeNames())
    if (exchanges.has(name))
      measured.exchanges[name] = readExchange(exchanges, name, fileName);
  return measured;
}

} // namespace tgpt::cost
