//===- test/unit/checkpoint/ConvertTensorTest.cpp - values survive a change of dtype --------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/ConvertTensor.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace tgpt::runtime;

template <typename T> static LogicalTensor tensorOf(DType dtype, const std::vector<T> &values) {
  LogicalTensor tensor{.dtype = dtype, .shape = {static_cast<int64_t>(values.size())}, .bytes = {}};
  tensor.bytes.resize(values.size() * sizeof(T));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

TEST(ConvertTensor, RoundsToNearestEven) {
  // 1 + 2^-8 lies half-way between the bf16 neighbours 1 and 1 + 2^-7; 1 + 3 * 2^-8 between 1 + 2^-7 and 1 + 2^-6.
  LogicalTensor from = tensorOf<float>(DType::F32, {1.0f, 1.00390625f, 1.01171875f, -2.5f});
  EXPECT_EQ(convertTensor(from, DType::BF16).bytes,
            tensorOf<uint16_t>(DType::BF16, {0x3f80, 0x3f80, 0x3f82, 0xc020}).bytes);
}

TEST(ConvertTensor, F16IsItsOwnType) {
  // 1 + 2^-11 lies half-way between the f16 neighbours 1 and 1 + 2^-10; 1e5 is beyond the largest.
  LogicalTensor from = tensorOf<float>(DType::F32, {1.00048828125f, -2.5f, 1e5f});
  LogicalTensor half = tensorOf<uint16_t>(DType::F16, {0x3c00, 0xc100, 0x7c00});
  EXPECT_EQ(convertTensor(from, DType::F16).bytes, half.bytes);
  EXPECT_EQ(convertTensor(tensorOf<double>(DType::F64, {1.00048828125, -2.5, 1e5}), DType::F16).bytes, half.bytes);
  EXPECT_EQ(convertTensor(half, DType::BF16).bytes, tensorOf<uint16_t>(DType::BF16, {0x3f80, 0xc020, 0x7f80}).bytes);
  EXPECT_EQ(convertTensor(convertTensor(half, DType::F64), DType::F16).bytes, half.bytes);
}

TEST(ConvertTensor, WideningIsExact) {
  LogicalTensor narrow = tensorOf<uint16_t>(DType::BF16, {0x3f80, 0xc020});
  EXPECT_EQ(convertTensor(narrow, DType::F64).bytes, tensorOf<double>(DType::F64, {1.0, -2.5}).bytes);
  LogicalTensor back = convertTensor(convertTensor(narrow, DType::F32), DType::BF16);
  EXPECT_EQ(back.bytes, narrow.bytes);
  EXPECT_EQ(back.shape, narrow.shape);
}

TEST(ConvertTensor, IntegersStayIntegers) {
  EXPECT_TRUE(isConvertible(DType::I32, DType::I32));
  EXPECT_FALSE(isConvertible(DType::I32, DType::F32));
  EXPECT_FALSE(isConvertible(DType::BF16, DType::I32));
  EXPECT_TRUE(isConvertible(DType::F64, DType::BF16));
}
