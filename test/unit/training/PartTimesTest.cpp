//===- test/unit/training/PartTimesTest.cpp - opcodes belong to parts -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/PartTimes.h"

#include <gtest/gtest.h>

using namespace tgpt::runtime;

TEST(PartTimes, OpcodesBelongToParts) {
  EXPECT_EQ(partOf("linear"), "GEMM");
  EXPECT_EQ(partOf("linear_wgrad"), "GEMM");
  EXPECT_EQ(partOf("attention_grad"), "attention");
  EXPECT_EQ(partOf("layer_norm_grad"), "norms");
  EXPECT_EQ(partOf("cross_entropy_grad"), "loss");
  EXPECT_EQ(partOf("loss_statistics"), "loss");
  EXPECT_EQ(partOf("token_loss"), "loss");
  EXPECT_EQ(partOf("adamw"), "optimizer");
  EXPECT_EQ(partOf("reduce_scatter"), "communication");
  EXPECT_EQ(partOf("recv"), "communication");
  EXPECT_EQ(partOf("wait"), "communication");
  EXPECT_EQ(partOf("swiglu"), "other");
  EXPECT_EQ(partOf(""), "other");
}
