//===- runtime/checkpoint/SafetensorsHeader.cpp - what a safetensors file holds, and where --------------------------*-
// C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/SafetensorsHeader.h"

#include "runtime/plan/Error.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

using namespace tgpt::runtime;
using Json = nlohmann::json;

static constexpr const char *metadataKey = "__metadata__";

static constexpr std::array<std::pair<DType, const char *>, 5> dtypeNames = {
    {{DType::F64, "F64"}, {DType::F32, "F32"}, {DType::BF16, "BF16"}, {DType::F16, "F16"}, {DType::I32, "I32"}}};

static const char *storedName(DType dtype) {
  return std::find_if(dtypeNames.begin(), dtypeNames.end(), [&](auto &entry) { return entry.first == dtype; })->second;
}

static std::string inQuotes(const std::string &name) {
  return "'" + name + "'";
}

std::string tgpt::runtime::describeShape(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

const StoredTensor *SafetensorsHeader::find(std::string_view name) const {
  auto at = std::lower_bound(tensors.begin(), tensors.end(), name,
                             [](const StoredTensor &tensor, std::string_view name) { return tensor.name < name; });
  return at != tensors.end() && at->name == name ? &*at : nullptr;
}

/// Bytes of a dense tensor; empty where they do not fit 63 bits.
static std::optional<int64_t> bytesOf(DType dtype, const std::vector<int64_t> &shape) {
  int64_t bytes = sizeInBytes(dtype);
  for (int64_t dim : shape)
    if (__builtin_mul_overflow(bytes, dim, &bytes))
      return std::nullopt;
  return bytes;
}

void tgpt::runtime::layOut(SafetensorsHeader &header) {
  auto byName = [](const StoredTensor &a, const StoredTensor &b) { return a.name < b.name; };
  std::sort(header.tensors.begin(), header.tensors.end(), byName);
  std::vector<StoredTensor *> order;
  for (StoredTensor &tensor : header.tensors) {
    if (tensor.name == metadataKey || (!order.empty() && order.back()->name == tensor.name))
      throw Error("tensor name " + inQuotes(tensor.name) + " cannot be saved: it is reserved or occurs twice");
    std::optional<int64_t> bytes = bytesOf(tensor.dtype, tensor.shape);
    if (!bytes)
      throw Error("tensor " + inQuotes(tensor.name) + " of shape " + describeShape(tensor.shape) + " is too large");
    tensor.bytes = *bytes;
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(), [](const StoredTensor *a, const StoredTensor *b) {
    return sizeInBytes(a->dtype) > sizeInBytes(b->dtype);
  });
  int64_t offset = 0;
  for (StoredTensor *tensor : order) {
    tensor->offsetBytes = offset;
    offset += tensor->bytes;
  }
}

std::string tgpt::runtime::encodeHeader(const SafetensorsHeader &header) {
  Json json = Json::object();
  if (!header.metadata.empty())
    json[metadataKey] = header.metadata;
  for (const StoredTensor &tensor : header.tensors)
    json[tensor.name] = {{"dtype", storedName(tensor.dtype)},
                         {"shape", tensor.shape},
                         {"data_offsets", {tensor.offsetBytes, tensor.offsetBytes + tensor.bytes}}};
  std::string text;
  try {
    text = json.dump();
  } catch (const Json::exception &) {
    throw Error("a tensor name or metadata text is no valid UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i)
    bytes[i] = static_cast<char>(text.size() >> (8 * i));
  return bytes + text;
}

/// Parses an object whose keys must all differ (a plain JSON parser keeps the last of equal keys).
static Json parseObject(std::string_view text) {
  std::set<std::string> names;
  std::string twice;
  auto watch = [&](int depth, Json::parse_event_t event, Json &parsed) {
    if (depth == 1 && event == Json::parse_event_t::key && !names.insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, watch);
  } catch (const Json::exception &) {
    throw Error("the header is no valid JSON");
  }
  if (!json.is_object())
    throw Error("the header is no JSON object");
  if (!twice.empty())
    throw Error("tensor " + inQuotes(twice) + " occurs twice");
  return json;
}

static DType decodeDType(const std::string &name, const Json &value) {
  std::string text = (value.is_string() ? value.get<std::string>() : value.dump()).substr(0, 40);
  for (auto [dtype, stored] : dtypeNames)
    if (text == stored)
      return dtype;
  throw Error("tensor " + inQuotes(name) + " has dtype " + text + ", known are F64, F32, BF16, F16 and I32");
}

/// A list of non-negative 63-bit integers.
static std::vector<int64_t> decodeSizes(const std::string &name, const char *key, const Json &value) {
  if (!value.is_array())
    throw Error("tensor " + inQuotes(name) + ": \"" + key + "\" is no list of integers");
  std::vector<int64_t> sizes;
  for (const Json &size : value) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > INT64_MAX)
      throw Error("tensor " + inQuotes(name) + ": \"" + key + "\" holds " + size.dump().substr(0, 40) +
                  ", expected an integer of 0 or more");
    sizes.push_back(size.get<int64_t>());
  }
  return sizes;
}

static StoredTensor decodeTensor(const std::string &name, const Json &value, int64_t dataBytes) {
  for (const char *key : {"dtype", "shape", "data_offsets"})
    if (!value.is_object() || !value.contains(key))
      throw Error("tensor " + inQuotes(name) + " has no \"" + key + "\"");
  StoredTensor tensor;
  tensor.name = name;
  tensor.dtype = decodeDType(name, value["dtype"]);
  tensor.shape = decodeSizes(name, "shape", value["shape"]);
  std::vector<int64_t> offsets = decodeSizes(name, "data_offsets", value["data_offsets"]);
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > dataBytes)
    throw Error("tensor " + inQuotes(name) + " has data offsets " + describeShape(offsets) + ", the file holds " +
                std::to_string(dataBytes) + " bytes of data");
  tensor.offsetBytes = offsets[0];
  tensor.bytes = offsets[1] - offsets[0];
  if (bytesOf(tensor.dtype, tensor.shape) != tensor.bytes)
    throw Error("tensor " + inQuotes(name) + " of dtype " + storedName(tensor.dtype) + " and shape " +
                describeShape(tensor.shape) + " does not take the " + std::to_string(tensor.bytes) +
                " bytes of its data offsets");
  return tensor;
}

static void requireNoHolesNorOverlap(const std::vector<StoredTensor> &tensors, int64_t dataBytes) {
  std::vector<const StoredTensor *> order;
  for (const StoredTensor &tensor : tensors)
    order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const StoredTensor *a, const StoredTensor *b) {
    return std::pair(a->offsetBytes, a->bytes) < std::pair(b->offsetBytes, b->bytes);
  });
  int64_t end = 0;
  for (const StoredTensor *tensor : order) {
    if (tensor->offsetBytes != end)
      throw Error("tensor " + inQuotes(tensor->name) + " starts at byte " + std::to_string(tensor->offsetBytes) +
                  " of the data, expected " + std::to_string(end) + " (a hole or an overlap)");
    end += tensor->bytes;
  }
  if (end != dataBytes)
    throw Error("the tensors take " + std::to_string(end) + " bytes, the file holds " + std::to_string(dataBytes) +
                " bytes of data");
}

SafetensorsHeader tgpt::runtime::decodeHeader(std::string_view text, int64_t dataBytes) {
  SafetensorsHeader header;
  Json json = parseObject(text);
  for (const auto &[name, value] : json.items()) {
    if (name != metadataKey) {
      header.tensors.push_back(decodeTensor(name, value, dataBytes));
      continue;
    }
    if (!value.is_object())
      throw Error("\"__metadata__\" is no JSON object");
    for (const auto &[key, fact] : value.items()) {
      if (!fact.is_string())
        throw Error("metadata '" + key + "' is no text");
      header.metadata[key] = fact.get<std::string>();
    }
  }
  requireNoHolesNorOverlap(header.tensors, dataBytes);
  return header;
}
