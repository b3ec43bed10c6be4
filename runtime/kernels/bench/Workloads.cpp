//===- Workloads.cpp - the kernel calls of a training step ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/bench/Workloads.h"
#include "runtime/kernels/api/TypeDispatch.h"

#include <cmath>

using namespace tgpt::runtime;
using Shape = std::vector<int64_t>;

double Workload::bytes() const {
  double sum = 0;
  for (const auto *operands : {&inputs, &outputs})
    for (const OperandShape &operand : *operands) {
      double elements = 1;
      for (int64_t size : operand.shape)
        elements *= double(size);
      sum += elements * double(sizeInBytes(operand.dtype));
    }
  return sum;
}

namespace {
/// Adds the calls of a step to a list.
class Step {
public:
  Step(const ModelSizes &m, DType compute, bool isCanonical)
      : m(m), t(compute), a(accumulatorOf(compute)), isCanonical(isCanonical) {}

  void linear(const std::string &role, int64_t k, int64_t n, int64_t count);
  void attention();
  void elementwise();
  void loss();
  void optimizer();
  void movement();
  std::vector<Workload> calls;

private:
  OperandShape compute(Shape shape) const { return {t, std::move(shape)}; }
  OperandShape accumulator(Shape shape) const { return {a, std::move(shape)}; }
  Shape rows(int64_t width) const { return {m.batch, m.sequence, width}; }
  Workload &add(std::string kernel, std::string role, std::vector<OperandShape> inputs,
                std::vector<OperandShape> outputs, int64_t count) {
    calls.push_back({std::move(kernel), std::move(role), std::move(inputs), std::move(outputs), {}, 0, count});
    return calls.back();
  }

  void cut(Workload &call, int64_t chunks) const {
    if (isCanonical)
      call.attributes.set("chunks", chunks);
  }

  const ModelSizes &m;
  DType t, a;
  bool isCanonical;
};
} // namespace

void Step::linear(const std::string &role, int64_t k, int64_t n, int64_t count) {
  double flops = 2.0 * double(m.batch * m.sequence) * double(k) * double(n);
  constexpr int64_t chunks = 8;
  Workload &forward = add("linear", role, {compute(rows(k)), compute({n, k})}, {compute(rows(n))}, count);
  if (m.isGpt2 && role != "head")
    forward.inputs.push_back(compute({n}));
  forward.flops = flops;
  cut(forward, chunks);
  Workload &dgrad = add("linear_dgrad", role, {compute(rows(n)), compute({n, k})}, {compute(rows(k))}, count);
  dgrad.flops = flops;
  cut(dgrad, chunks);
  Workload &wgrad = add("linear_wgrad", role, {compute(rows(n)), compute(rows(k))}, {accumulator({n, k})}, count);
  wgrad.flops = flops;
  wgrad.attributes.set("accumulate", int64_t(1));
  cut(wgrad, m.batch);
}

void Step::attention() {
  int64_t c = m.width / m.heads;
  OperandShape q = compute(rows(m.width)), kv = compute(rows(m.kvHeads * c));
  OperandShape lse = accumulator({m.batch, m.heads, m.sequence});
  // Two products over the causal half: 2 * 2 * b h s^2/2 c.
  double forward = 2.0 * double(m.batch * m.heads * c) * double(m.sequence) * double(m.sequence + 1);
  auto setAttributes = [&](Workload &call, double flops, int64_t chunks) {
    call.flops = flops;
    call.attributes.set("head_dim", c);
    call.attributes.set("causal", int64_t(1));
    call.attributes.set("scale", 1 / std::sqrt(double(c)));
    cut(call, chunks);
  };
  setAttributes(add("attention", "", {q, kv, kv}, {q, lse}, m.layers), forward, 1);
  setAttributes(add("attention_grad", "", {q, q, kv, kv, q, lse}, {q, kv, kv}, m.layers), 2.5 * forward, m.heads);
  for (const auto &[role, operand] : {std::pair("q", q), {"k", kv}}) {
    Attributes &attributes = add("rope", role, {operand}, {operand}, m.isGpt2 ? 0 : 2 * m.layers).attributes;
    attributes.set("head_dim", c);
    attributes.set("theta", 10000.0);
  }
}

void Step::elementwise() {
  OperandShape x = compute(rows(m.width)), w = compute({m.width}), hidden = compute(rows(m.hidden));
  OperandShape rstd = accumulator({m.batch, m.sequence}), dw = accumulator({m.width});
  int64_t norms = 2 * m.layers + 1;
  auto ofGpt2 = [&](int64_t count) { return m.isGpt2 ? count : 0; };
  auto ofLlama = [&](int64_t count) { return m.isGpt2 ? 0 : count; };
  add("rms_norm", "", {x, w}, {x, rstd}, ofLlama(norms)).attributes.set("epsilon", 1e-5);
  add("rms_norm_grad", "", {x, x, w, rstd}, {x, dw}, ofLlama(norms));
  add("layer_norm", "", {x, w, w}, {x, rstd, rstd}, ofGpt2(norms)).attributes.set("epsilon", 1e-5);
  add("layer_norm_grad", "", {x, x, w, rstd, rstd}, {x, dw, dw}, ofGpt2(norms));
  add("swiglu", "", {hidden, hidden}, {hidden}, ofLlama(m.layers));
  add("swiglu_grad", "", {hidden, hidden, hidden}, {hidden, hidden}, ofLlama(m.layers));
  add("gelu", "", {hidden}, {hidden}, ofGpt2(m.layers));
  add("gelu_grad", "", {hidden, hidden}, {hidden}, ofGpt2(m.layers));
  OperandShape samples{DType::I32, {m.batch}}, step{DType::I32, {}}, headWeight = compute({m.width / m.heads});
  Attributes &dropout = add("dropout", "", {x, samples, step}, {x}, 0).attributes;
  dropout.set("probability", 0.1);
  dropout.set("key", int64_t(1));
  add("head_norm", "q", {x, headWeight}, {x}, 0).attributes.set("epsilon", 1e-5);
  add("head_norm_grad", "q", {x, x, headWeight}, {x, accumulator({m.width / m.heads})}, 0)
      .attributes.set("epsilon", 1e-5);
  add("add", "residual", {x, x}, {x}, 2 * m.layers);
  add("add_n", "residual gradient", {x, x}, {x}, 2 * m.layers);
}

void Step::loss() {
  OperandShape logits = compute(rows(m.vocabulary)), tokens{DType::I32, {m.batch, m.sequence}};
  OperandShape perToken = accumulator({m.batch, m.sequence}), scalar = accumulator({});
  OperandShape x = compute(rows(m.width));
  add("embedding", "", {tokens, compute({m.vocabulary, m.width})}, {x}, 1);
  add("embedding_grad", "", {tokens, x}, {accumulator({m.vocabulary, m.width})}, 1)
      .attributes.set("accumulate", int64_t(1));
  add("cross_entropy", "", {logits, tokens}, {scalar, scalar, perToken}, 1);
  add("cross_entropy_grad", "", {logits, tokens, perToken, scalar}, {logits}, 1);
  constexpr int64_t parts = 8; // of the vocabulary, as the ranks of tp = 8 share it
  for (int64_t kinds : {2, 3}) {
    std::string role = kinds == 3 ? "vocabulary-parallel, smoothed" : "vocabulary-parallel";
    OperandShape statistics = accumulator({parts, kinds, m.batch, m.sequence});
    add("loss_statistics", role, {logits, tokens}, {statistics}, 0).attributes.set("vocabulary", m.vocabulary);
    add("token_loss", role, {tokens, statistics}, {scalar, scalar, perToken}, 0)
        .attributes.set("label_smoothing", kinds == 3 ? 0.1 : 0.0);
  }
}

void Step::optimizer() {
  int64_t kvWidth = m.width / m.heads * m.kvHeads;
  int64_t layer = 2 * m.width * m.width + 2 * m.width * kvWidth + 3 * m.width * m.hidden + 2 * m.width;
  if (m.isGpt2) // four products with biases, an MLP of two, norms with biases
    layer = 4 * m.width * (m.width + 1) + 2 * m.width * m.hidden + m.hidden + m.width + 4 * m.width;
  int64_t parameters = m.layers * layer + m.vocabulary * m.width + m.width;
  if (m.isGpt2)
    parameters += m.sequence * m.width + m.width;
  OperandShape state = accumulator({parameters}), scalar = accumulator({});
  add("sum_squares", "", {state}, {scalar}, 1);
  Attributes &attributes =
      add("adamw", "", {state, state, state, state, scalar, scalar, scalar}, {state, state, state}, 1).attributes;
  for (auto [name, value] : {std::pair("beta1", 0.9), {"beta2", 0.95}, {"epsilon", 1e-8}, {"weight_decay", 0.1}})
    attributes.set(name, value);
  if (t != a) {
    add("cast", "parameters", {state}, {compute({parameters})}, 1);
    add("cast", "back", {compute({parameters})}, {state}, 0);
  }
}

/// What is copied, filled and added up between the others.
void Step::movement() {
  OperandShape x = compute(rows(m.width)), gradient = accumulator({m.hidden, m.width}), scalar = accumulator({});
  add("fill", "gradients", {}, {gradient}, 5 * m.layers).attributes.set("value", 0.0);
  add("accumulate", "", {gradient}, {gradient}, 0);
  add("copy", "", {x}, {x}, 0);
  Attributes &slice = add("slice", "", {x}, {compute({m.batch, m.sequence / 2, m.width})}, 0).attributes;
  slice.set("dim", int64_t(1));
  slice.set("offset", int64_t(0));
  add("sum_leading", "bias", {x}, {accumulator({m.width})}, m.isGpt2 ? 5 * m.layers : 0)
      .attributes.set("accumulate", int64_t(1));
  add("divide", "", {scalar, scalar}, {scalar}, 1);
  add("clip_scale", "", {scalar, scalar}, {scalar, scalar}, 1).attributes.set("max_norm", 1.0);
}

ModelSizes tgpt::runtime::gpt2Sizes(int64_t batch) {
  return {.batch = batch,
          .sequence = 1024,
          .width = 768,
          .heads = 12,
          .kvHeads = 12,
          .hidden = 3072,
          .vocabulary = 50304,
          .layers = 12,
          .isGpt2 = true};
}

std::vector<Workload> tgpt::runtime::trainingStepWorkloads(const ModelSizes &m, DType compute, bool isCanonical) {
  Step step(m, compute, isCanonical);
  int64_t kvWidth = m.width / m.heads * m.kvHeads;
  step.linear("q, o", m.width, m.width, 2 * m.layers);
  step.linear("k, v", m.width, kvWidth, 2 * m.layers);
  step.linear(m.isGpt2 ? "up" : "gate, up", m.width, m.hidden, m.isGpt2 ? m.layers : 2 * m.layers);
  step.linear("down", m.hidden, m.width, m.layers);
  step.linear("head", m.width, m.vocabulary, 1);
  step.attention();
  step.elementwise();
  step.loss();
  step.optimizer();
  step.movement();
  return std::move(step.calls);
}
