//===- AttentionCases.cpp - calls of attention and of rope ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/CaseBuilder.h"

#include <cmath>

using namespace tgpt::runtime;
using namespace tgpt::test;

static void addForward(CaseBuilder &call, AttentionSize size) {
  auto [b, s, h, g, c] = size;
  call.in({b, s, h * c}, -2, 2).in({b, s, g * c}, -2, 2).in({b, s, g * c}).out({b, s, h * c}).outA({b, h, s});
}

/// o and lse need not belong to q, k and v: the formula is judged for any.
static void addBackward(CaseBuilder &call, AttentionSize size) {
  auto [b, s, h, g, c] = size;
  call.in({b, s, h * c})
      .in({b, s, h * c}, -2, 2)
      .in({b, s, g * c}, -2, 2)
      .in({b, s, g * c})
      .in({b, s, h * c})
      .inA({b, h, s}, 3, 6)
      .out({b, s, h * c})
      .out({b, s, g * c})
      .out({b, s, g * c});
}

void tgpt::test::addRopeCases(Cases &cases, DType t, const Shape &shape, int64_t c) {
  for (int64_t inverse : {0, 1})
    CaseBuilder(cases, "rope", t)
        .in(shape)
        .out(shape)
        .integer("head_dim", c)
        .integer("inverse", inverse)
        .integer("position_offset", inverse * 7)
        .set("theta", 10000.0);
}

void tgpt::test::addAttentionCases(Cases &cases, DType t, AttentionSize size) {
  double scale = 1 / std::sqrt(double(size.c));
  for (auto [kernel, addOperands] : {std::pair("attention", &addForward), {"attention_grad", &addBackward}})
    for (int64_t causal : {0, 1}) {
      CaseBuilder call(cases, kernel, t);
      addOperands(call, size);
      call.integer("head_dim", size.c).integer("causal", causal).set("scale", scale);
    }
  for (auto [kernel, addOperands] : {std::pair("attention", &addForward), {"attention_grad", &addBackward}})
    for (int64_t causal : {0, 1}) {
      CaseBuilder call(cases, kernel, t);
      addOperands(call, size);
      call.tokens({size.batch}, 0, INT32_MAX)
          .tokens({}, 1, 1000000)
          .integer("head_dim", size.c)
          .integer("causal", causal)
          .integer("key", 0x5DEECE66D1234567 - causal * INT64_MAX)
          .integer("width_offset", causal * 3 * size.c)
          .set("dropout", causal ? 0.3 : 0.8)
          .set("scale", scale);
    }
  if (size.c % 2 == 0)
    addRopeCases(cases, t, {size.batch, size.sequence, size.heads * size.c}, size.c);
}
