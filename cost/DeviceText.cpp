//===- DeviceText.cpp - a device profile in one line ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/DeviceText.h"
#include "cost/SplitText.h"
#include <algorithm>
#include <charconv>
#include <map>

using namespace tgpt::cost;

namespace {

std::string textOf(double value) {
  return exact(value);
}

std::string textOf(const ByDtype &figures) {
  std::string text;
  for (size_t i = 0; i < dtypeNames.size(); ++i)
    text += (i == 0 ? "" : ",") + std::string(dtypeNames[i]) + "@" + exact(figures.figures[i]);
  return text;
}

std::string textOf(const EfficiencyCurve &curve) {
  std::string text;
  for (auto [size, share] : curve.points)
    text += (text.empty() ? "" : ",") + exact(size) + "@" + exact(share);
  return text;
}

/// Each reads one kind of figure and gives what is wrong with it.
std::string read(const DeviceField &field, const std::string &text, double &value) {
  std::optional<double> number = parseNumber(text);
  if (!number)
    return "expected a number";
  value = *number;
  return faultOf(field, value);
}

std::string read(const DeviceField &field, const std::string &text, ByDtype &figures) {
  std::vector<std::string> parts = split(text, ',');
  if (parts.size() != dtypeNames.size())
    return "expected figures of f64, f32, bf16 and f16";
  for (size_t i = 0; i < parts.size(); ++i) {
    std::string prefix = std::string(dtypeNames[i]) + "@";
    if (parts[i].rfind(prefix, 0) != 0)
      return "expected " + prefix + " and a number";
    if (std::string fault = read(field, parts[i].substr(prefix.size()), figures.figures[i]); !fault.empty())
      return fault;
  }
  return "";
}

std::string read(const DeviceField &, const std::string &text, EfficiencyCurve &curve) {
  curve.points.clear();
  for (const std::string &part : split(text, ',')) {
    std::vector<std::string> point = split(part, '@');
    std::optional<double> size = parseNumber(point[0]), share = parseNumber(point.back());
    if (point.size() != 2 || !size || !share)
      return "expected points size@share";
    curve.points.push_back({*size, *share});
  }
  return faultOf(curve);
}

} // namespace

std::string tgpt::cost::exact(double value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

std::optional<double> tgpt::cost::parseNumber(const std::string &text) {
  double number = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional<double>(number) : std::nullopt;
}

std::string tgpt::cost::deviceText(const DeviceProfile &device) {
  std::string text = "name:" + device.name;
  for (const DeviceField &field : deviceFields())
    text += ";" + std::string(field.key) + ":" +
            std::visit([&](auto member) { return textOf(device.*member); }, field.member);
  return text;
}

std::optional<DeviceProfile> tgpt::cost::parseDevice(const std::string &text, std::string &error) {
  std::map<std::string, std::string> given;
  for (const std::string &part : split(text, ';')) {
    size_t colon = part.find(':');
    if (colon == std::string::npos || !given.try_emplace(part.substr(0, colon), part.substr(colon + 1)).second) {
      error = "'" + part + "' is not key:value of a key not given before";
      return std::nullopt;
    }
  }
  DeviceProfile device;
  device.name = given["name"];
  for (const DeviceField &field : deviceFields()) {
    auto found = given.find(field.key);
    std::string fault =
        found == given.end()
            ? "is missing"
            : std::visit([&](auto member) { return read(field, found->second, device.*member); }, field.member);
    if (!fault.empty()) {
      error = std::string(field.key) + ": " + fault;
      return std::nullopt;
    }
  }
  if (given.size() != deviceFields().size() + 1)
    error = "there are keys that a device does not have";
  else
    error = faultOf(device);
  return error.empty() ? std::optional<DeviceProfile>(device) : std::nullopt;
}
