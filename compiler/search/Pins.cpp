//===- Pins.cpp - choices that are not up to the search ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/search/Pins.h"
#include <charconv>

namespace tgpt::search {
namespace {

std::optional<int64_t> parseWhole(std::string_view text, int64_t least, int64_t most) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool isWhole = error == std::errc() && end == text.data() + text.size() && value >= least && value <= most;
  return isWhole ? std::optional(value) : std::nullopt;
}

std::optional<bool> parseSwitch(std::string_view text) {
  if (text == "on" || text == "true")
    return true;
  if (text == "off" || text == "false")
    return false;
  return std::nullopt;
}

/// The place of a name in a list of names.
template <typename Names> std::optional<std::size_t> placeOf(const Names &names, std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (text == names[i])
      return i;
  return std::nullopt;
}

template <typename T> bool keep(std::optional<T> &pin, const std::optional<T> &parsed) {
  if (parsed)
    pin = parsed;
  return parsed.has_value();
}

template <auto member, int64_t least = 1, int64_t most = 1 << 20>
constexpr PinField whole(const char *name, const char *meaning, const char *accepted) {
  return {name,
          meaning,
          accepted,
          [](Pins &pins, std::string_view text) { return keep(pins.*member, parseWhole(text, least, most)); },
          [](Pins &pins) { (pins.*member).reset(); },
          [](const Pins &pins) { return (pins.*member).has_value(); }};
}

template <auto member> constexpr PinField toggle(const char *name, const char *meaning) {
  return {name,
          meaning,
          "on or off",
          [](Pins &pins, std::string_view text) { return keep(pins.*member, parseSwitch(text)); },
          [](Pins &pins) { (pins.*member).reset(); },
          [](const Pins &pins) { return (pins.*member).has_value(); }};
}

bool setSchedule(Pins &pins, std::string_view text) {
  if (std::optional<std::size_t> place = placeOf(pipelineOrderNames, text))
    pins.schedule = static_cast<PipelineOrder>(*place);
  else
    return false;
  return true;
}

bool setRecompute(Pins &pins, std::string_view text) {
  if (std::optional<std::size_t> place = placeOf(recomputeNames, text))
    pins.recompute = recomputeModes[*place];
  else
    return false;
  return true;
}

bool setOrder(Pins &pins, std::string_view text) {
  for (const NamedRankOrder &named : rankOrders)
    if (text == named.name) {
      pins.order = named.order;
      return true;
    }
  return false;
}

} // namespace

const std::vector<PinField> &pinFields() {
  static const char *count = "a whole number from 1 to 1048576";
  static const std::vector<PinField> fields = {
      whole<&Pins::tp>("tp", "Tensor-parallel ranks", count),
      toggle<&Pins::sp>("sp", "Sequence parallelism"),
      whole<&Pins::pp>("pp", "Pipeline stages", count),
      whole<&Pins::vpp>("vpp", "Model chunks of a stage", count),
      {"schedule", "Order of micro-batches", "1f1b, gpipe or zero-bubble", setSchedule,
       [](Pins &pins) { pins.schedule.reset(); }, [](const Pins &pins) { return pins.schedule.has_value(); }},
      whole<&Pins::dp>("dp", "Data-parallel ranks", count),
      whole<&Pins::zero, 0, 3>("zero", "What dp ranks share out", "0, 1, 2 or 3"),
      whole<&Pins::zeroGroup, 0>("zero-group", "dp ranks that share it out", "a whole number from 0 (all) to 1048576"),
      {"recompute", "What the backward computes again", "none, selective or full", setRecompute,
       [](Pins &pins) { pins.recompute.reset(); }, [](const Pins &pins) { return pins.recompute.has_value(); }},
      toggle<&Pins::overlap>("overlap", "Collectives beside computation"),
      {"rank-order", "Axes of ranks from the outside in", "dp, pp and tp, each once, such as dp,pp,tp", setOrder,
       [](Pins &pins) { pins.order.reset(); }, [](const Pins &pins) { return pins.order.has_value(); }},
      whole<&Pins::bucketMib, 0>("bucket-mib", "MiB of gradients up to which layers share a collective",
                                 "a whole number from 0 (a layer each) to 1048576"),
      whole<&Pins::prefetch, 0, 1024>("prefetch", "Layers ahead of use that ZeRO-3 gathers, with overlap",
                                      "a whole number from 0 to 1024"),
      whole<&Pins::microBatchSamples>("micro-batch-samples", "Samples of a micro-batch", count),
      whole<&Pins::microBatches>("micro-batches", "Micro-batches of a step", count),
  };
  return fields;
}

void setPin(Pins &pins, const std::string &name, const std::string &text) {
  std::string names;
  for (const PinField &field : pinFields()) {
    if (name == field.name) {
      if (!field.set(pins, text))
        throw PinError(name + " is '" + text + "', expected " + field.accepted);
      return;
    }
    names += (names.empty() ? "" : ", ") + std::string(field.name);
  }
  throw PinError("there is no choice '" + name + "', expected one of " + names);
}

Pins parsePins(const std::string &text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t end = std::min(text.find(',', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    if (part.find('=') == std::string::npos && !parts.empty())
      parts.back() += "," + part;
    else
      parts.push_back(part);
    begin = end + 1;
  }
  Pins pins;
  for (const std::string &part : parts) {
    std::size_t equals = part.find('=');
    if (equals == std::string::npos)
      throw PinError("'" + text + "' is no list of choices, expected one such as tp=16,pp=1,recompute=full");
    Pins before = pins;
    std::string name = part.substr(0, equals);
    setPin(pins, name, part.substr(equals + 1));
    for (const PinField &field : pinFields())
      if (name == field.name && field.isSet(before))
        throw PinError(name + " is given twice in '" + text + "'");
  }
  return pins;
}

std::vector<const PinField *> pinned(const Pins &pins) {
  std::vector<const PinField *> fields;
  for (const PinField &field : pinFields())
    if (field.isSet(pins))
      fields.push_back(&field);
  return fields;
}

} // namespace tgpt::search
