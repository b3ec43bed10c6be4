//===- Cases.cpp - the calls that the suites run ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/CaseBuilder.h"

#include <cmath>

using namespace tgpt::runtime;
using namespace tgpt::test;

static void addLinear(Cases &cases, DType t, Shape lead, int64_t k, int64_t n) {
  auto with = [&](int64_t last) {
    Shape s = lead;
    s.push_back(last);
    return s;
  };
  CaseBuilder(cases, "linear", t).in(with(k)).in({n, k}).out(with(n));
  CaseBuilder(cases, "linear", t).in(with(k)).in({n, k}).in({n}).out(with(n));
  CaseBuilder(cases, "linear_dgrad", t).in(with(n)).in({n, k}).out(with(k));
  for (int64_t accumulate : {0, 1})
    CaseBuilder(cases, "linear_wgrad", t).in(with(n)).in(with(k)).outA({n, k}).integer("accumulate", accumulate);
}

static void addNorms(Cases &cases, DType t, int64_t rows, int64_t d) {
  CaseBuilder(cases, "rms_norm", t).in({rows, d}).in({d}).out({rows, d}).outA({rows}).set("epsilon", epsilon);
  CaseBuilder(cases, "layer_norm", t)
      .in({rows, d})
      .in({d})
      .in({d})
      .out({rows, d})
      .outA({rows})
      .outA({rows})
      .set("epsilon", epsilon);
  for (int64_t accumulate : {0b000, 0b010, 0b110}) {
    if (accumulate != 0b110)
      CaseBuilder(cases, "rms_norm_grad", t)
          .in({rows, d})
          .in({rows, d})
          .in({d})
          .inA({rows}, 0.5, 2)
          .out({rows, d})
          .outA({d})
          .integer("accumulate", accumulate);
    CaseBuilder(cases, "layer_norm_grad", t)
        .in({rows, d})
        .in({rows, d})
        .in({d})
        .inA({rows}, -0.2, 0.2)
        .inA({rows}, 0.5, 2)
        .out({rows, d})
        .outA({d})
        .outA({d})
        .integer("accumulate", accumulate);
  }
}

static void addHeadNorm(Cases &cases, DType t, Shape lead, int64_t heads, int64_t c) {
  Shape x = lead;
  x.push_back(heads * c);
  CaseBuilder(cases, "head_norm", t).in(x).in({c}).out(x).set("epsilon", epsilon);
  for (int64_t accumulate : {0b00, 0b10})
    CaseBuilder(cases, "head_norm_grad", t)
        .in(x)
        .in(x)
        .in({c})
        .out(x)
        .outA({c})
        .set("epsilon", epsilon)
        .integer("accumulate", accumulate);
}

/// A shard whose first element is not on a counter's boundary, and the whole.
static void addDropout(Cases &cases, DType t, int64_t b, int64_t s, int64_t d) {
  for (int64_t offset : {0, 1})
    CaseBuilder(cases, "dropout", t)
        .in({b, s, d})
        .tokens({b}, 0, INT32_MAX)
        .tokens({}, 1, 1000000)
        .out({b, s, d})
        .integer("key", 0x5DEECE66D1234567 - offset * INT64_MAX)
        .integer("position_offset", offset * 1023)
        .integer("width_offset", offset * 131)
        .set("probability", offset ? 0.7 : 0.1);
}

static void addElementwise(Cases &cases, DType t, Shape shape) {
  CaseBuilder(cases, "gelu", t).in(shape, -12, 12).out(shape);
  CaseBuilder(cases, "gelu_grad", t).in(shape).in(shape, -12, 12).out(shape);
  CaseBuilder(cases, "swiglu", t).in(shape, -40, 40).in(shape).out(shape);
  CaseBuilder(cases, "swiglu_grad", t).in(shape).in(shape, -40, 40).in(shape).out(shape).out(shape);
  CaseBuilder(cases, "add", t).in(shape).in(shape).out(shape);
  CaseBuilder(cases, "add", t).in(shape).in({shape.back()}).out(shape);
  CaseBuilder(cases, "add_n", t).in(shape).out(shape);
  CaseBuilder(cases, "add_n", t).in(shape).in(shape).in(shape).out(shape);
  if (shape.back() == 1) { // the squared norms of a large model's parameters
    CaseBuilder many(cases, "add_n", t);
    for (int i = 0; i < 520; ++i)
      many.in(shape);
    many.out(shape);
  }
  for (int64_t accumulate : {0, 1})
    CaseBuilder(cases, "sum_leading", t).in(shape).outA({shape.back()}).integer("accumulate", accumulate);
  CaseBuilder(cases, "sum_leading", t).in(shape).outA({});
}

static void addOptimizer(Cases &cases, DType t, int64_t n) {
  CaseBuilder(cases, "sum_squares", t).inA({n}).outA({});
  for (double step : {0.0, 1.0, 1000.0})
    CaseBuilder(cases, "adamw", t)
        .inA({n})
        .inA({n})
        .inA({n})
        .inA({n}, 0, 1)
        .inA({}, 0.1, 0.9)
        .inA({}, 0.001, 0.01)
        .inA({}, step, step)
        .outA({n})
        .outA({n})
        .outA({n})
        .set("beta1", 0.9)
        .set("beta2", 0.95)
        .set("epsilon", 1e-8)
        .set("weight_decay", 0.1);
}

static void addScalars(Cases &cases, DType t) {
  for (double maxNorm : {0.0, 0.01, 1e9})
    CaseBuilder(cases, "clip_scale", t).inA({}, 1, 9).inA({}, 3, 3).outA({}).outA({}).set("max_norm", maxNorm);
  CaseBuilder(cases, "clip_scale", t).inA({}, 1, 9).inA({}, 0, 0).outA({}).outA({}).set("max_norm", 1.0);
  for (double scale : {0.0, 1.0, 3.0, 65536.0})
    CaseBuilder(cases, "clip_scale", t)
        .inA({}, 1, 9)
        .inA({}, 3, 3)
        .inA({}, scale, scale)
        .outA({})
        .outA({})
        .set("max_norm", 1.0);
  for (double norm : {4.0, double(INFINITY), double(NAN)})
    for (double scale : {65536.0, 3e38, 1.3e-38})
      for (int64_t good : {0, 2, 3})
        CaseBuilder(cases, "adjust_loss_scale", t)
            .inA({}, norm, norm)
            .inA({}, scale, scale)
            .inA({}, double(good), double(good))
            .inA({}, 5, 5)
            .inA({}, 77, 77)
            .outA({})
            .outA({})
            .outA({})
            .outA({})
            .set("backoff", 0.5)
            .set("growth", 2.0)
            .integer("growth_interval", 3);
  CaseBuilder(cases, "divide", t).inA({}, 1, 9).inA({}, 3, 4).outA({});
  CaseBuilder(cases, "divide", t).inA({}, 1, 9).inA({}, 0, 0).outA({});
}

static void addMovement(Cases &cases, DType t, Shape shape) {
  for (DType to : {DType::F64, DType::F32, DType::BF16, DType::F16, DType::I32}) {
    CaseBuilder(cases, "cast", t).input(t, shape, -50, 50).output(to, shape);
    CaseBuilder(cases, "cast", to).input(to, shape, -50, 50).output(t, shape);
    CaseBuilder(cases, "fill", to).output(to, shape).set("value", 2.0 / 3);
    CaseBuilder(cases, "copy", to).input(to, shape, -50, 50).output(to, shape);
    if (to != DType::I32)
      CaseBuilder(cases, "accumulate", t).in(shape).output(to, shape).integer("accumulate", 1);
  }
  for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim) {
    Shape part = shape;
    part[dim] = (shape[dim] + 1) / 2;
    for (int64_t offset : {int64_t(0), shape[dim] - part[dim]})
      CaseBuilder(cases, "slice", t).in(shape).out(part).integer("dim", dim).integer("offset", offset);
  }
}

static constexpr DType computeTypes[] = {DType::F64, DType::F32, DType::BF16, DType::F16};

static Cases makeCases() {
  Cases cases;
  for (DType t : computeTypes) {
    addLinear(cases, t, {1}, 1, 1);
    addLinear(cases, t, {2, 3}, 5, 7);
    addLinear(cases, t, {2, 8, 2}, 32, 16);
    addLinear(cases, t, {3, 67}, 65, 33);
    addLinear(cases, t, {300}, 40, 150);
    for (auto [rows, d] : {std::pair(1, 1), {3, 5}, {7, 64}, {67, 129}, {300, 100}})
      addNorms(cases, t, rows, d);
    for (AttentionSize size :
         {AttentionSize{1, 1, 1, 1, 1}, {2, 5, 2, 1, 4}, {1, 64, 4, 2, 8}, {1, 130, 2, 2, 16}, {2, 97, 6, 2, 6}})
      addAttentionCases(cases, t, size);
    if (t == DType::BF16 || t == DType::F16) // heads for tensor cores, on a GPU
      for (AttentionSize size : {AttentionSize{1, 130, 2, 1, 64}, {2, 67, 1, 1, 128}})
        addAttentionCases(cases, t, size);
    for (int64_t c : {2, 12, 30, 62, 96}) // one and several of the blocks that a head is rotated in
      addRopeCases(cases, t, {2, 3, 3 * c}, c);
    for (const Shape &shape : {Shape{1}, {2, 3, 5}, {4, 67}, {3, 5700}})
      addElementwise(cases, t, shape);
    addTokenCases(cases, t, 1, 1, 1, 1);
    addTokenCases(cases, t, 2, 3, 5, 7);
    addTokenCases(cases, t, 3, 20, 131, 70);
    for (int64_t n : {1, 77, 17000})
      addOptimizer(cases, t, n);
    addDropout(cases, t, 1, 1, 1);
    addDropout(cases, t, 2, 3, 7);
    addDropout(cases, t, 3, 2, 203);
    addHeadNorm(cases, t, {2, 3}, 1, 1);
    addHeadNorm(cases, t, {2, 3}, 3, 5);
    addHeadNorm(cases, t, {70}, 4, 66);
    addChunkedCases(cases, t);
    addScalars(cases, t);
    addMovement(cases, t, {3, 5, 7});
    addMovement(cases, t, {1});
  }
  return cases;
}

const std::vector<Case> &tgpt::test::allCases() {
  static const Cases cases = makeCases();
  return cases;
}

std::vector<Case> tgpt::test::largeCases() {
  Cases cases;
  for (DType t : computeTypes) {
    addLinear(cases, t, {2, 301}, 130, 277);
    addLinear(cases, t, {2, 2048}, 16, 48);
    addNorms(cases, t, 700, 200);
    addAttentionCases(cases, t, {2, 150, 4, 2, 16});
    addElementwise(cases, t, {5, 70, 300});
    addTokenCases(cases, t, 2, 130, 300, 150);
    addDropout(cases, t, 3, 50, 333);
    addHeadNorm(cases, t, {2, 300}, 6, 40);
    addOptimizer(cases, t, 100000);
    addMovement(cases, t, {60, 70, 20});
  }
  return cases;
}
