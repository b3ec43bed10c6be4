//===- test/unit/checkpoint/SafetensorsTest.cpp - what is written is read; what is damaged is refused
//-------------------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/SafetensorsReader.h"
#include "runtime/checkpoint/SafetensorsWriter.h"

#include "runtime/plan/Error.h"
#include "test/unit/files/TemporaryDirectory.h"

#include <random>

using namespace tgpt::runtime;

static LogicalTensor patterned(DType dtype, std::vector<int64_t> shape, int seed) {
  LogicalTensor tensor{.dtype = dtype, .shape = shape, .bytes = {}};
  size_t bytes = sizeInBytes(dtype);
  for (int64_t dim : shape)
    bytes *= dim;
  for (size_t i = 0; i < bytes; ++i)
    tensor.bytes.push_back(std::byte(i * 31 + seed));
  return tensor;
}

static std::map<std::string, LogicalTensor> severalTensors() {
  return {{"b", patterned(DType::F32, {2, 3}, 1)},      {"a", patterned(DType::BF16, {5}, 2)},
          {"h", patterned(DType::F16, {7}, 3)},         {"scalar", patterned(DType::F64, {}, 3)},
          {"ids", patterned(DType::I32, {1, 1, 2}, 4)}, {"empty", patterned(DType::F32, {0, 4}, 5)}};
}

static std::vector<StoredTensor> describe(const std::map<std::string, LogicalTensor> &tensors) {
  std::vector<StoredTensor> stored;
  for (auto &[name, value] : tensors)
    stored.push_back({.name = name, .dtype = value.dtype, .shape = value.shape});
  return stored;
}

static void writeFile(const std::filesystem::path &path) {
  auto tensors = severalTensors();
  SafetensorsWriter writer(path, describe(tensors), {{"format", "pt"}});
  for (auto &[name, value] : tensors)
    writer.write(name, value);
  writer.commit();
}

static std::string withLength(const std::string &json) {
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(json.size());
  bytes[1] = static_cast<char>(json.size() >> 8);
  return bytes + json;
}

/// What reading a file of this header and `dataBytes` zeros is refused with.
static std::string refusal(const std::string &json, size_t dataBytes = 0) {
  TemporaryDirectory directory;
  auto path = directory.write("t", withLength(json) + std::string(dataBytes, '\0'));
  return messageOf<Error>([&] { SafetensorsReader reader(path); });
}

#define EXPECT_SAYS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

TEST(Safetensors, RoundTrip) {
  TemporaryDirectory directory;
  writeFile(directory / "t");
  SafetensorsReader reader(directory / "t");
  EXPECT_EQ(reader.getHeader().metadata.at("format"), "pt");
  auto tensors = severalTensors();
  ASSERT_EQ(reader.getHeader().tensors.size(), tensors.size());
  for (auto &[name, value] : tensors) {
    const StoredTensor *stored = reader.find(name);
    ASSERT_TRUE(stored) << name;
    EXPECT_EQ(stored->offsetBytes % sizeInBytes(value.dtype), 0u) << name;
    LogicalTensor read = reader.read(*stored);
    EXPECT_EQ(read.dtype, value.dtype);
    EXPECT_EQ(read.shape, value.shape);
    EXPECT_EQ(read.bytes, value.bytes) << name;
  }
  EXPECT_EQ(reader.find("none"), nullptr);
}

TEST(Safetensors, TheBytesAreTheFormats) {
  TemporaryDirectory directory;
  SafetensorsWriter writer(directory / "t", {{.name = "x", .dtype = DType::I32, .shape = {1}}});
  writer.write("x", patterned(DType::I32, {1}, 65));
  writer.commit();
  std::string json = R"({"x":{"data_offsets":[0,4],"dtype":"I32","shape":[1]}})";
  json.resize(56, ' ');
  EXPECT_EQ(directory.read("t"), withLength(json) + "A`\x7f\x9e");
}

TEST(Safetensors, NothingAppearsBeforeAllIsWritten) {
  TemporaryDirectory directory;
  auto tensors = severalTensors();
  {
    SafetensorsWriter writer(directory / "t", describe(tensors));
    writer.write("a", tensors["a"]);
    EXPECT_SAYS(messageOf<Error>([&] { writer.commit(); }), "'b' was not written");
    EXPECT_SAYS(messageOf<Error>([&] { writer.write("b", tensors["a"]); }), "'b' is not what the header");
    EXPECT_SAYS(messageOf<Error>([&] { writer.write("c", tensors["a"]); }), "'c' is not what the header");
  }
  EXPECT_EQ(directory.entries(), 0u);
  EXPECT_SAYS(messageOf<Error>([&] {
                SafetensorsWriter writer(directory / "t", {{.name = "x"}, {.name = "x"}});
              }),
              "'x' cannot be saved");
  EXPECT_EQ(directory.entries(), 0u);
}

TEST(Safetensors, RefusesWhatIsNoFileOfThisFormat) {
  TemporaryDirectory directory;
  auto opening = [&](std::string_view bytes) {
    auto path = directory.write("t", bytes);
    return messageOf<Error>([&] { SafetensorsReader reader(path); });
  };
  EXPECT_SAYS(opening(""), "it has 0 bytes, too few");
  EXPECT_SAYS(opening("1234567"), "it has 7 bytes, too few");
  EXPECT_SAYS(opening(std::string(16, '\xff')), "its header claims 18446744073709551615 bytes, the file has 8");
  EXPECT_SAYS(refusal("{"), "no valid JSON");
  EXPECT_SAYS(refusal("[]"), "no JSON object");
  EXPECT_SAYS(refusal(std::string(60000, '[')), "no valid JSON");
  EXPECT_SAYS(messageOf<Error>([] { SafetensorsReader reader("/nonexistent/w"); }), "'/nonexistent/w'");
}

TEST(Safetensors, RefusesFalseFacts) {
  EXPECT_SAYS(refusal(R"({"x":{"dtype":"F32","shape":[1]}})"), "'x' has no \"data_offsets\"");
  EXPECT_SAYS(refusal(R"({"x":3})"), "'x' has no \"dtype\"");
  EXPECT_SAYS(refusal(R"({"x":{"dtype":"F8","shape":[2],"data_offsets":[0,4]}})", 4), "dtype F8, known are");
  EXPECT_SAYS(refusal(R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4), "\"shape\" holds -1");
  EXPECT_SAYS(refusal(R"({"x":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4), "\"shape\" holds 1.5");
  EXPECT_SAYS(refusal(R"({"x":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4), "\"shape\" is no list");
  EXPECT_SAYS(refusal(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4), "does not take the 4 bytes");
  EXPECT_SAYS(refusal(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3), "data offsets [0, 4]");
  EXPECT_SAYS(refusal(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4), "data offsets [4, 0]");
  EXPECT_SAYS(refusal(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4), "data offsets [0]");
  EXPECT_SAYS(refusal(R"({"__metadata__":{"a":1}})"), "metadata 'a' is no text");
  std::string huge = "4611686018427387904"; // 2^62: twice that, times 4 bytes, is 0 in 64 bits
  EXPECT_SAYS(refusal(R"({"x":{"dtype":"F32","shape":[)" + huge + R"(,4],"data_offsets":[0,0]}})"),
              "does not take the 0 bytes");
}

TEST(Safetensors, RefusesHolesOverlapsAndRepeats) {
  std::string x = R"("x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_SAYS(refusal("{" + x + R"(,"y":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})", 12),
              "'y' starts at byte 8 of the data, expected 4");
  EXPECT_SAYS(refusal("{" + x + R"(,"y":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4), "expected 4");
  EXPECT_SAYS(refusal("{" + x + "," + x + "}", 4), "'x' occurs twice");
  EXPECT_SAYS(refusal("{" + x + "}", 6), "the tensors take 4 bytes, the file holds 6");
}

/// Whatever a damaged file holds, reading it either works (the damage hit the data) or is refused with an Error.
TEST(Safetensors, SurvivesRandomDamage) {
  TemporaryDirectory directory;
  writeFile(directory / "whole");
  std::string whole = directory.read("whole");
  std::mt19937 random(20240520);
  int refused = 0;
  for (int round = 0; round < 600; ++round) {
    std::string bytes = whole;
    if (round % 3 == 0)
      bytes.resize(random() % bytes.size());
    else
      for (int flips = 1 + random() % 3; flips > 0; --flips)
        bytes[random() % bytes.size()] =
            round % 3 == 1 ? static_cast<char>(random()) : "0123456789-[]{}\",:. "[random() % 20];
    auto path = directory.write("damaged", bytes);
    try {
      SafetensorsReader reader(path);
      for (const StoredTensor &tensor : reader.getHeader().tensors)
        reader.read(tensor);
    } catch (const Error &) {
      ++refused;
    }
  }
  // A third of the files is cut short, and a header refuses most changes of its bytes.
  EXPECT_GT(refused, 400);
}
