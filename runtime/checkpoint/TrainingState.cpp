//===- runtime/checkpoint/TrainingState.cpp - where a run stands, besides its tensors ---------------------*- C++
//-*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/TrainingState.h"

#include "runtime/files/MappedFile.h"
#include "runtime/plan/Error.h"

#include <nlohmann/json.hpp>

using namespace tgpt::runtime;
using Json = nlohmann::json;

std::string tgpt::runtime::encodeState(const TrainingState &state) {
  nlohmann::ordered_json json = {{"format_version", TrainingState::formatVersion},
                                 {"step", state.step},
                                 {"tokens_seen", state.tokensSeen},
                                 {"next_draw", state.nextDraw},
                                 {"data_seed", state.dataSeed},
                                 {"data", state.data},
                                 {"model", state.model},
                                 {"options", state.options}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

static Json parse(const std::filesystem::path &path) {
  MappedFile file(path);
  const char *begin = reinterpret_cast<const char *>(file.bytes().data());
  Json json = Json::parse(begin, begin + file.bytes().size(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    throw Error("'" + path.string() + "' holds no JSON object");
  return json;
}

static const Json &field(const Json &json, const std::filesystem::path &path, const char *name) {
  if (!json.contains(name))
    throw Error("'" + path.string() + "' has no \"" + name + "\"");
  return json[name];
}

static int64_t count(const Json &json, const std::filesystem::path &path, const char *name) {
  const Json &value = field(json, path, name);
  if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX)
    throw Error("'" + path.string() + "': \"" + name + "\" is no integer of 0 or more");
  return value.get<int64_t>();
}

static std::string text(const Json &json, const std::filesystem::path &path, const char *name) {
  const Json &value = field(json, path, name);
  if (!value.is_string())
    throw Error("'" + path.string() + "': \"" + name + "\" is no text");
  return value.get<std::string>();
}

TrainingState tgpt::runtime::readState(const std::filesystem::path &path) {
  Json json = parse(path);
  int64_t version = count(json, path, "format_version");
  if (version != TrainingState::formatVersion)
    throw Error("'" + path.string() + "' has format version " + std::to_string(version) + ", this program reads " +
                std::to_string(TrainingState::formatVersion));
  const Json &seed = field(json, path, "data_seed");
  if (!seed.is_number_unsigned())
    throw Error("'" + path.string() + "': \"data_seed\" is no integer of 0 or more");
  return {.step = count(json, path, "step"),
          .tokensSeen = count(json, path, "tokens_seen"),
          .nextDraw = count(json, path, "next_draw"),
          .dataSeed = seed.get<uint64_t>(),
          .data = text(json, path, "data"),
          .model = text(json, path, "model"),
          .options = text(json, path, "options")};
}
