//===- MeasuredRates.cpp - how fast the kernels of a machine are, as measured ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/MeasuredRates.h"

#include <algorithm>
#include <cmath>

using namespace tgpt::cost;

std::optional<double> MeasuredRates::kernelSeconds(std::string_view kernel, Dtype dtype, const CallSize &size) const {
  auto found = kernels.find(kernel);
  if (found == kernels.end())
    return std::nullopt;
  const std::optional<KernelRate> &rate = found->second[static_cast<size_t>(dtype)];
  return rate ? std::optional<double>(rate->seconds(size)) : std::nullopt;
}

std::optional<double> MeasuredRates::exchangeSeconds(std::string_view exchange, double ranks, double bytes) const {
  auto found = exchanges.find(exchange);
  if (found == exchanges.end() || found->second.empty())
    return std::nullopt;
  const std::vector<ExchangeRate> &rates = found->second;
  auto seconds = [&](const ExchangeRate &rate) { return rate.latencySeconds + bytes * rate.secondsPerByte; };
  auto above = std::find_if(rates.begin(), rates.end(), [&](const ExchangeRate &rate) { return rate.ranks >= ranks; });
  if (above == rates.end())
    return seconds(rates.back()) * ranks / rates.back().ranks;
  if (above == rates.begin() || above->ranks == ranks)
    return seconds(*above);
  auto below = std::prev(above);
  double part = std::log(ranks / below->ranks) / std::log(above->ranks / below->ranks);
  return seconds(*below) + part * (seconds(*above) - seconds(*below));
}

const std::vector<std::string> &tgpt::cost::exchangeNames() {
  static const std::vector<std::string> names = {"all_gather", "all_reduce", "all_to_all", "reduce_scatter", "send"};
  return names;
}

// As of a device's figures: no sum of times leaves the range of a double.
std::string tgpt::cost::faultOfRate(double figure) {
  bool isLegal = std::isfinite(figure) && figure >= 0 && figure <= 1e6;
  return isLegal ? "" : "expected 0 or a number up to 1e6";
}
