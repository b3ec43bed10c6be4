//===- test/unit/training/TinyModel.cpp - a training step small enough to write by hand -----------------------*- C++
//-*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/training/TinyModel.h"

#include "test/unit/plan/PlanBuilder.h"

using namespace tgpt;
using namespace tgpt::test;

namespace {
struct Weight {
  uint32_t value, grad, master, moment1, moment2; // buffers; master is `value` where there is no copy
};

class TinyModelBuilder {
public:
  explicit TinyModelBuilder(const TinyModel &model)
      : model(model), type(model.dtype), wide(type == plan::F64 ? plan::F64 : plan::F32),
        b(model.dp, 1, model.tp, model.microBatches), overDp(b.group({"dp"})), overTp(b.group({"tp"})) {}

  plan::Plan build();

private:
  uint32_t scratch(const char *name, plan::DType dtype, const Shape &shape) {
    return b.buffer(0, name, plan::Region::SCRATCH, dtype, shape);
  }
  uint32_t scalar(const char *name) { return scratch(name, wide, {}); }
  uint32_t state(const std::string &parameter, const char *suffix, plan::Variable::Role role, plan::DType dtype);
  Weight weight(const std::string &name);
  uint32_t metric(const char *name) { return b.variable(0, name, plan::Variable::METRIC, wide, {}, {}).buffer(); }
  void accumulating(plan::Instruction &instruction, int64_t outputs) {
    setAttribute(instruction, "accumulate", outputs);
  }

  void begin();
  void forward();
  void backward();
  void update();
  void step(uint32_t segment, const Weight &weight, uint32_t scale, uint32_t rate, uint32_t count);

  const TinyModel &model;
  plan::DType type, wide;
  PlanBuilder b;
  uint32_t overDp, overTp;
  Weight table, head;
  uint32_t lossSum, count;
  uint32_t tokens, labels, x, logits, lse; // activations
  std::vector<uint32_t> segments;
};
} // namespace

uint32_t TinyModelBuilder::state(const std::string &parameter, const char *suffix, plan::Variable::Role role,
                                 plan::DType dtype) {
  plan::Variable &made = b.variable(0, parameter + suffix, role, dtype, {model.vocabulary, model.width}, {{}, {"tp"}});
  made.set_parameter(parameter);
  if (role == plan::Variable::PARAMETER || role == plan::Variable::MASTER) {
    made.mutable_initializer()->set_kind(plan::Initializer::NORMAL);
    made.mutable_initializer()->set_stddev(0.5);
    made.mutable_initializer()->set_key(parameter);
  }
  return made.buffer();
}

Weight TinyModelBuilder::weight(const std::string &name) {
  Weight made;
  made.value = made.master = state(name, "", plan::Variable::PARAMETER, type);
  if (type == plan::BF16 || type == plan::F16)
    made.master = state(name, ".f32", plan::Variable::MASTER, wide);
  made.grad = state(name, ".grad", plan::Variable::GRADIENT, wide);
  made.moment1 = state(name, ".m", plan::Variable::MOMENT1, wide);
  made.moment2 = state(name, ".v", plan::Variable::MOMENT2, wide);
  return made;
}

void TinyModelBuilder::begin() {
  uint32_t segment = b.segment(0, "begin", plan::Segment::BEGIN);
  for (uint32_t cleared : {table.grad, head.grad, lossSum, count})
    setAttribute(b.kernel(0, segment, "fill", {}, {cleared}), "value", 0.0);
  segments.push_back(segment);
}

void TinyModelBuilder::forward() {
  uint32_t segment = b.segment(0, "forward", plan::Segment::FORWARD);
  uint32_t loss = scalar("micro_batch.loss"), valid = scalar("micro_batch.count");
  b.instruction(0, segment, plan::Instruction::INPUT, "tokens", {}, {tokens});
  b.instruction(0, segment, plan::Instruction::INPUT, "labels", {}, {labels});
  b.kernel(0, segment, "embedding", {tokens, table.value}, {x});
  b.kernel(0, segment, "linear", {x, head.value}, {logits});
  b.collective(0, segment, plan::Instruction::ALL_REDUCE, overTp, logits, logits);
  b.kernel(0, segment, "cross_entropy", {logits, labels}, {loss, valid, lse});
  accumulating(b.kernel(0, segment, "accumulate", {loss}, {lossSum}), 1);
  accumulating(b.kernel(0, segment, "accumulate", {valid}, {count}), 1);
  segments.push_back(segment);
}

void TinyModelBuilder::backward() {
  uint32_t segment = b.segment(0, "backward", plan::Segment::BACKWARD);
  uint32_t one = scalar("one");
  uint32_t dx = scratch("dx", type, {model.microBatchSamples, model.sequence, model.width / model.tp});
  setAttribute(b.kernel(0, segment, "fill", {}, {one}), "value", 1.0);
  b.kernel(0, segment, "cross_entropy_grad", {logits, labels, lse, one}, {logits});
  accumulating(b.kernel(0, segment, "linear_wgrad", {logits, x}, {head.grad}), 1);
  b.kernel(0, segment, "linear_dgrad", {logits, head.value}, {dx});
  accumulating(b.kernel(0, segment, "embedding_grad", {tokens, dx}, {table.grad}), 1);
  segments.push_back(segment);
}

void TinyModelBuilder::step(uint32_t segment, const Weight &weight, uint32_t scale, uint32_t rate, uint32_t count) {
  plan::Instruction &adamw =
      b.kernel(0, segment, "adamw", {weight.master, weight.grad, weight.moment1, weight.moment2, scale, rate, count},
               {weight.master, weight.moment1, weight.moment2});
  setAttribute(adamw, "beta1", 0.9);
  setAttribute(adamw, "beta2", 0.95);
  setAttribute(adamw, "epsilon", 1e-8);
  setAttribute(adamw, "weight_decay", 0.1);
  if (weight.master != weight.value)
    b.kernel(0, segment, "cast", {weight.master}, {weight.value});
}

void TinyModelBuilder::update() {
  uint32_t segment = b.segment(0, "update", plan::Segment::UPDATE);
  uint32_t tableSquares = scalar("table.squares"), headSquares = scalar("head.squares"), squares = scalar("squares");
  uint32_t norm = scalar("grad_norm"), scale = scalar("scale"), loss = scalar("loss");
  uint32_t rate = scalar("learning_rate"), stepCount = scalar("step");
  for (uint32_t summed : {table.grad, head.grad, lossSum, count})
    b.collective(0, segment, plan::Instruction::ALL_REDUCE, overDp, summed, summed);
  b.kernel(0, segment, "sum_squares", {table.grad}, {tableSquares});
  b.kernel(0, segment, "sum_squares", {head.grad}, {headSquares});
  b.kernel(0, segment, "add_n", {tableSquares, headSquares}, {squares});
  b.collective(0, segment, plan::Instruction::ALL_REDUCE, overTp, squares, squares);
  setAttribute(b.kernel(0, segment, "clip_scale", {squares, count}, {norm, scale}), "max_norm", 1.0);
  b.instruction(0, segment, plan::Instruction::INPUT, "learning_rate", {}, {rate});
  b.instruction(0, segment, plan::Instruction::INPUT, "step", {}, {stepCount});
  step(segment, table, scale, rate, stepCount);
  step(segment, head, scale, rate, stepCount);
  b.kernel(0, segment, "divide", {lossSum, count}, {loss});
  b.instruction(0, segment, plan::Instruction::OUTPUT, "loss", {loss}, {});
  b.instruction(0, segment, plan::Instruction::OUTPUT, "grad_norm", {norm}, {});
  b.instruction(0, segment, plan::Instruction::OUTPUT, "token_count", {count}, {});
  segments.push_back(segment);
}

plan::Plan TinyModelBuilder::build() {
  table = weight("table");
  head = weight("head");
  lossSum = metric("loss_sum");
  count = metric("token_count");
  int64_t rows = model.microBatchSamples, sequence = model.sequence;
  auto activation = [&](const char *name, plan::DType dtype, const Shape &shape) {
    return b.buffer(0, name, plan::Region::ACTIVATIONS, dtype, shape);
  };
  tokens = activation("tokens", plan::I32, {rows, sequence});
  labels = activation("labels", plan::I32, {rows, sequence});
  x = activation("x", type, {rows, sequence, model.width / model.tp});
  logits = activation("logits", type, {rows, sequence, model.vocabulary});
  lse = activation("lse", wide, {rows, sequence});
  begin(), forward(), backward(), update();

  b.run(0, segments[0]);
  for (int64_t m = 0; m < model.microBatches; ++m) {
    b.run(0, segments[1], m);
    b.run(0, segments[2], m);
  }
  b.run(0, segments[3]);
  plan::Plan plan = b.build();
  plan.set_seed(model.seed);
  plan.set_model_name("tiny");
  plan::TrainingShape &shape = *plan.mutable_training();
  shape.set_sequence_length(sequence);
  shape.set_micro_batch_samples(rows);
  shape.set_vocabulary(model.vocabulary);
  shape.set_compute_dtype(type);
  shape.set_model_parameters(2 * model.vocabulary * model.width);
  shape.set_model_flops_per_step(6.0 * static_cast<double>(model.dp * model.microBatches * rows * sequence) *
                                 static_cast<double>(model.vocabulary * model.width));
  return plan;
}

plan::Plan TinyModel::plan() const {
  return TinyModelBuilder(*this).build();
}
