//===- test/e2e/IntegerModel.cpp - a step whose every number is an integer -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/e2e/IntegerModel.h"

#include <cstdlib>
#include <random>

using namespace tgpt;

static std::string up(int64_t layer) {
  return "layers." + std::to_string(layer) + ".up";
}
static std::string down(int64_t layer) {
  return "layers." + std::to_string(layer) + ".down";
}

/// A matrix of -1, 0 and 1, of which one in `sparsity` is not 0.
static IntegerMatrix drawn(int64_t rows, int64_t columns, uint64_t sparsity, std::mt19937_64 &random) {
  IntegerMatrix matrix{rows, columns, {}};
  for (int64_t i = 0; i < rows * columns; ++i) {
    bool isZero = random() % sparsity != 0;
    matrix.values.push_back(isZero ? 0 : random() & 1 ? 1 : -1);
  }
  return matrix;
}

IntegerModel::IntegerModel() {
  std::mt19937_64 random(5);
  weights["embed"] = drawn(vocabulary, width, 2, random);
  for (int64_t layer = 0; layer < layers; ++layer) {
    weights[up(layer)] = drawn(ffn, width, 4, random);
    weights[down(layer)] = drawn(width, ffn, 4, random);
  }
}

//===----------------------------------------------------------------------===//
// The step, computed directly
//===----------------------------------------------------------------------===//

IntegerMatrix IntegerModel::product(const IntegerMatrix &a, bool isTransposedA, const IntegerMatrix &b,
                                    bool isTransposedB) {
  int64_t rows = isTransposedA ? a.columns : a.rows, inner = isTransposedA ? a.rows : a.columns,
          columns = isTransposedB ? b.rows : b.columns;
  IntegerMatrix result{rows, columns, std::vector<int64_t>(rows * columns)};
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      int64_t magnitude = 0;
      for (int64_t k = 0; k < inner; ++k) {
        int64_t term = (isTransposedA ? a.at(k, i) : a.at(i, k)) * (isTransposedB ? b.at(j, k) : b.at(k, j));
        result.at(i, j) += term;
        magnitude += std::abs(term);
      }
      note(magnitude);
    }
  return result;
}

IntegerMatrix IntegerModel::sum(const IntegerMatrix &a, const IntegerMatrix &b) {
  IntegerMatrix result = a;
  for (size_t i = 0; i < a.values.size(); ++i) {
    result.values[i] += b.values[i];
    note(std::abs(a.values[i]) + std::abs(b.values[i]));
  }
  return result;
}

int64_t IntegerModel::squares(const IntegerMatrix &a) {
  int64_t total = 0;
  for (int64_t value : a.values)
    total += value * value;
  note(total);
  return total;
}

void IntegerModel::step(const std::vector<int32_t> &tokens) {
  int64_t rows = static_cast<int64_t>(tokens.size());
  IntegerMatrix selected{rows, vocabulary, std::vector<int64_t>(rows * vocabulary)};
  for (int64_t i = 0; i < rows; ++i)
    selected.at(i, tokens[i]) = 1;
  std::vector<IntegerMatrix> inputs, hidden;
  IntegerMatrix x = product(selected, false, weights["embed"], false);
  for (int64_t layer = 0; layer < layers; ++layer) {
    inputs.push_back(x);
    hidden.push_back(product(x, false, weights[up(layer)], true));
    x = sum(x, product(hidden.back(), false, weights[down(layer)], true));
  }
  lossSum = squares(x);
  IntegerMatrix dx = x;
  for (int64_t layer = layers - 1; layer >= 0; --layer) {
    gradients[down(layer)] = product(dx, true, hidden[layer], false);
    IntegerMatrix dHidden = product(dx, false, weights[down(layer)], false);
    gradients[up(layer)] = product(dHidden, true, inputs[layer], false);
    dx = sum(dx, product(dHidden, false, weights[up(layer)], false));
  }
  gradients["embed"] = product(selected, true, dx, false);
  gradientSquares = 0;
  for (auto &[name, gradient] : gradients) {
    gradientSquares += squares(gradient);
    weights[name] = sum(weights[name], gradient);
  }
  note(gradientSquares);
}

//===----------------------------------------------------------------------===//
// The step as IR
//===----------------------------------------------------------------------===//

namespace {

/// Writes the module that `--compile-to=training` would give.
class ProgramText {
public:
  ProgramText(const IntegerModel &model, int64_t samples)
      : model(model), rows(std::to_string(samples) + "x" + std::to_string(IntegerModel::sequence) + "x") {}

  std::string run() {
    declarations();
    begin();
    microBatch();
    update();
    return "module @integers {\n" + text + "}\n";
  }

private:
  static std::string number(int64_t value) { return std::to_string(value); }
  static std::string tensor(const std::string &shape) { return "tensor<" + shape + "xf32>"; }
  static std::string typeOf(const IntegerMatrix &matrix) {
    return tensor(number(matrix.rows) + "x" + number(matrix.columns));
  }
  std::string typeOf(const std::string &weight) const { return typeOf(model.getWeights().at(weight)); }
  std::string activation(int64_t columns) const { return tensor(rows + number(columns)); }
  void line(const std::string &code) { text += "  " + code + "\n"; }

  /// "%result = tgpt.op operands {layer} : (types) -> type".
  void op(const std::string &result, const std::string &name, const std::vector<std::string> &operands,
          const std::vector<std::string> &types, const std::string &type, int64_t layer) {
    std::string names, listed;
    for (size_t i = 0; i < operands.size(); ++i) {
      names += (i ? ", %" : "%") + operands[i];
      listed += (i ? ", " : "") + types[i];
    }
    line("  %" + result + " = tgpt." + name + " " + names + " {tgpt.layer = " + number(layer) + " : i64} : (" + listed +
         ") -> " + type);
  }
  void read(const std::string &variable, const std::string &type, const std::string &name, int64_t layer) {
    line("  %" + name + " = tgpt.read @" + variable + " {tgpt.layer = " + number(layer) + " : i64} : " + type);
  }
  void accumulate(const std::string &value, const std::string &variable, const std::string &type, int64_t layer) {
    line("  tgpt.accumulate %" + value + ", @" + variable + " {tgpt.layer = " + number(layer) + " : i64} : " + type);
  }

  void declarations() {
    for (const auto &[name, matrix] : model.getWeights()) {
      line("tgpt.parameter @" + name + " : " + typeOf(matrix) + " = #tgpt.init<mean = 0.0, stddev = 0.0>");
      line("tgpt.state gradient @" + name + ".gradient of @" + name + " : " + typeOf(matrix) + " {transient}");
    }
    line("tgpt.state metric @loss_sum : tensor<f32> {transient}");
  }

  void begin() {
    line("func.func @begin() attributes {tgpt.phase = \"begin\"} {");
    auto clear = [&](const std::string &variable, const std::string &type, int64_t index) {
      std::string zero = "%zero_" + number(index);
      line("  " + zero + " = tgpt.fill {value = 0.0 : f64} : () -> " + type);
      line("  tgpt.write " + zero + ", @" + variable + " : " + type);
    };
    int64_t index = 0;
    for (const auto &[name, matrix] : model.getWeights())
      clear(name + ".gradient", typeOf(matrix), index++);
    clear("loss_sum", "tensor<f32>", index);
    line("  return");
    line("}");
  }

  void microBatch() {
    std::string ids = "tensor<" + rows + "i32>", x = activation(IntegerModel::width), h = activation(IntegerModel::ffn);
    int64_t last = IntegerModel::layers;
    line("func.func @micro_batch(%tokens: " + ids + " {tgpt.name = \"tokens\"}, %labels: " + ids +
         " {tgpt.name = \"labels\"}) attributes {tgpt.phase = \"micro_batch\"} {");
    read("embed", typeOf("embed"), "embed", -1);
    op("x0", "embedding", {"tokens", "embed"}, {ids, typeOf("embed")}, x, -1);
    for (int64_t i = 0; i < last; ++i)
      forward(number(i), number(i + 1), i, x, h);
    op("loss", "sum_squares", {"x" + number(last)}, {x}, "tensor<f32>", last);
    accumulate("loss", "loss_sum", "tensor<f32>", last);
    line("  tgpt.begin_backward");
    std::string gradient = "x" + number(last);
    for (int64_t i = last - 1; i >= 0; --i)
      gradient = backward(number(i), gradient, i, x, h);
    op("dembed", "embedding_grad", {"tokens", gradient}, {ids, x}, typeOf("embed"), -1);
    accumulate("dembed", "embed.gradient", typeOf("embed"), -1);
    line("  return");
    line("}");
  }

  void forward(const std::string &i, const std::string &next, int64_t layer, const std::string &x,
               const std::string &h) {
    read(up(layer), typeOf(up(layer)), "up" + i, layer);
    read(down(layer), typeOf(down(layer)), "down" + i, layer);
    op("h" + i, "linear", {"x" + i, "up" + i}, {x, typeOf(up(layer))}, h, layer);
    op("y" + i, "linear", {"h" + i, "down" + i}, {h, typeOf(down(layer))}, x, layer);
    op("x" + next, "add", {"x" + i, "y" + i}, {x, x}, x, layer);
  }

  /// The name of the gradient of the layer's input.
  std::string backward(const std::string &i, const std::string &dx, int64_t layer, const std::string &x,
                       const std::string &h) {
    op("ddown" + i, "linear_wgrad", {dx, "h" + i}, {x, h}, typeOf(down(layer)), layer);
    accumulate("ddown" + i, down(layer) + ".gradient", typeOf(down(layer)), layer);
    op("dh" + i, "linear_dgrad", {dx, "down" + i}, {x, typeOf(down(layer))}, h, layer);
    op("dup" + i, "linear_wgrad", {"dh" + i, "x" + i}, {h, x}, typeOf(up(layer)), layer);
    accumulate("dup" + i, up(layer) + ".gradient", typeOf(up(layer)), layer);
    op("dy" + i, "linear_dgrad", {"dh" + i, "up" + i}, {h, typeOf(up(layer))}, x, layer);
    op("dx" + i, "add", {dx, "dy" + i}, {x, x}, x, layer);
    return "dx" + i;
  }

  void update() {
    line("func.func @update() -> (tensor<f32> {tgpt.name = \"loss\"}, tensor<f32> {tgpt.name = \"grad_norm\"}) "
         "attributes {tgpt.phase = \"update\"} {");
    std::string squares, types;
    int64_t index = 0;
    for (const auto &[name, matrix] : model.getWeights()) {
      std::string i = number(index++), type = typeOf(matrix);
      line("  %g" + i + " = tgpt.read @" + name + ".gradient : " + type);
      line("  %s" + i + " = tgpt.sum_squares %g" + i + " : (" + type + ") -> tensor<f32>");
      line("  %w" + i + " = tgpt.read @" + name + " : " + type);
      line("  %n" + i + " = tgpt.add %w" + i + ", %g" + i + " : (" + type + ", " + type + ") -> " + type);
      line("  tgpt.write %n" + i + ", @" + name + " : " + type);
      squares += (squares.empty() ? "%s" : ", %s") + i;
      types += (types.empty() ? "" : ", ") + std::string("tensor<f32>");
    }
    line("  %norm = tgpt.add_n " + squares + " : (" + types + ") -> tensor<f32>");
    line("  %loss = tgpt.read @loss_sum : tensor<f32>");
    line("  return %loss, %norm : tensor<f32>, tensor<f32>");
    line("}");
  }

  const IntegerModel &model;
  std::string rows; ///< "4x8x": samples and sequence
  std::string text;
};

} // namespace

std::string IntegerModel::program(int64_t samples) {
  return ProgramText(IntegerModel(), samples).run();
}
