//===- ErrorBounds.cpp - how far a kernel may be from its formula -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place with tolerances. First-order bounds in the unit roundoff: uA of
// the arithmetic (f64: 2^-53, else 2^-24), uT of the storage type (bf16: 2^-8, f16: 2^-11).
//
//   sum of n terms, any order      |error| <= n uA sum|term|
//   product, quotient, sqrt        relative errors add, each operation adds uA
//   exp(x)                         relative 1.5 uA for the polynomial (8.3e-8 = 1.4 uA
//                                  measured over all f32), plus the absolute error of x
//   storing                        uT |y|, once for the kernel, once for the reference;
//                                  in f16 at least half a subnormal, 2^-25
//
// "magnitude" is the reference kernel run on absolute values: sum|a||b| for
// everything that is a sum of products.
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/Judged.h"

#include <cmath>
#include <map>

using namespace tgpt::runtime;
using namespace tgpt::test;

static void makeAbsolute(Tensor &tensor) {
  for (int64_t i = 0; tensor.dtype() != DType::I32 && i < tensor.elements(); ++i)
    tensor.set(i, std::abs(tensor.get(i)));
}

std::vector<Tensor> Judged::magnitude() const {
  Case absolute = kase;
  for (Tensor &tensor : absolute.inputs)
    makeAbsolute(tensor);
  for (Tensor &tensor : absolute.outputs)
    makeAbsolute(tensor);
  return absolute.run(*findKernel(KernelBackend::Reference, kase.kernel));
}

/// Copies and selections: no arithmetic, one rounding, equal bits.
static void exact(Judged &) {}

/// Sums of products of `terms` terms, the value added to included.
static void sumOfProducts(Judged &j, int64_t terms) {
  std::vector<Tensor> magnitude = j.magnitude();
  for (size_t o = 0; o < j.expected.size(); ++o)
    j.each(o, [&](int64_t i) { return double(terms + 2) * j.uA * magnitude[o].get(i); });
}

static void linear(Judged &j) {
  sumOfProducts(j, j.kase.inputs[0].dim(-1));
}
static void linearWgrad(Judged &j) {
  sumOfProducts(j, rowsOf(j.kase.inputs[0]));
}
static void sumLeading(Judged &j) {
  sumOfProducts(j, j.kase.inputs[0].elements() / j.expected[0].elements());
}
static void embeddingGrad(Judged &j) {
  sumOfProducts(j, j.kase.inputs[0].elements());
}
static void addition(Judged &j) {
  sumOfProducts(j, int64_t(j.kase.inputs.size()));
}

static void linearDgradSum(Judged &j) {
  int64_t terms = 0;
  for (size_t i = 0; i < j.kase.inputs.size() / 2; ++i)
    terms += j.kase.inputs[i].dim(-1);
  sumOfProducts(j, terms);
}
static void sumPositions(Judged &j) {
  sumOfProducts(j, j.kase.inputs[0].dim(1));
}
static void accumulateTree(Judged &j) {
  sumOfProducts(j, int64_t(j.kase.outputs.size()) + 1);
}

static void sumNodes(Judged &j) {
  sumOfProducts(j, j.kase.inputs[0].dim(0));
}

/// x^2 of an f32 is exact in f64; n additions in f64. The sums of chunks are rounded to A
/// and added in A.
static void sumSquares(Judged &j) {
  double chunks = double(j.integer("chunks"));
  j.each(0, [&](int64_t) {
    return (double(j.kase.inputs[0].elements()) * roundoff(DType::F64) + chunks * j.uA) * j.expected[0].get(0);
  });
}

/// Rotation: two products and a sum; sine and cosine are rounded to A.
static void rope(Judged &j) {
  int64_t c = j.integer("head_dim"), half = c / 2;
  j.each(0, [&](int64_t i) {
    int64_t low = i / c * c + i % half;
    return 4 * j.uA * (std::abs(j.in(0, low)) + std::abs(j.in(0, low + half)));
  });
}

/// The scale 1 / (1 - probability) and the product. An element that one of the two drops
/// and the other keeps is far out of bounds.
static void dropout(Judged &j) {
  j.each(0, [&](int64_t i) { return 2 * j.uA * std::abs(j.expected[0].get(i)); });
}

/// Relative error of s = 1/(1+exp(-z)), z with relative error `operations` uA: exp adds
/// |dz| (1-s) <= |z| operations uA; exp, addition and division add 1.5 + 1 + 1.
static double sigmoidError(const Judged &j, double z, double operations) {
  return j.uA * (4 + operations * std::abs(z));
}

/// z = 2 sqrt(2/pi) x (1 + 0.044715 x^2): five operations and two rounded constants.
static double geluArgument(double x) {
  return 1.5957691216057308 * x * (1 + 0.044715 * x * x);
}

/// The reference computes 1 + tanh in f64, which cancels for negative arguments.
static const double referenceCancellation = 4 * roundoff(DType::F64);

static void gelu(Judged &j) {
  j.each(0, [&](int64_t i) {
    return (sigmoidError(j, geluArgument(j.in(0, i)), 7) + j.uA) * std::abs(j.expected[0].get(i)) +
           referenceCancellation * std::abs(j.in(0, i));
  });
}

/// Slope s + x s (1-s) dz/dx: 1-s has the absolute error of s.
static void geluGrad(Judged &j) {
  j.each(0, [&](int64_t i) {
    double x = j.in(1, i), z = geluArgument(x), s = 1 / (1 + std::exp(-z)), error = sigmoidError(j, z, 7);
    double dz = 1.5957691216057308 * (1 + 3 * 0.044715 * x * x);
    double slope = s * error + std::abs(x) * dz * s * ((1 - s) * (error + 8 * j.uA) + s * error + j.uA);
    slope += 2 * j.uA * (s + std::abs(x) * dz * s * (1 - s)) + referenceCancellation * (1 + std::abs(x) * dz);
    return std::abs(j.in(0, i)) * slope;
  });
}

static void swiglu(Judged &j) {
  j.each(0, [&](int64_t i) {
    return (sigmoidError(j, j.in(0, i), 0) + 2 * j.uA) * std::abs(j.expected[0].get(i)) + underflow;
  });
}

static void swigluGrad(Judged &j) {
  j.each(0, [&](int64_t i) {
    double g = j.in(1, i), s = 1 / (1 + std::exp(-g)), error = sigmoidError(j, g, 0);
    double slope = s * (error + 2 * j.uA) + std::abs(g) * s * ((1 - s) * (error + 5 * j.uA) + s * error + j.uA);
    return std::abs(j.in(0, i) * j.in(2, i)) * slope + underflow;
  });
  j.each(1, [&](int64_t i) {
    return (sigmoidError(j, j.in(1, i), 0) + 2 * j.uA) * std::abs(j.expected[1].get(i)) + underflow;
  });
}

/// Computed in f64 by both; only the stored value is rounded.
static void scalars(Judged &j) {
  for (size_t o = 0; o < j.expected.size(); ++o)
    j.each(o, [&](int64_t) { return 4 * roundoff(DType::F64) * std::abs(j.expected[o].get(0)); });
}

/// Moments: sums of two terms. The update: error of m over the root, and six
/// operations on it; beta and 1-beta are rounded to A.
static void adamW(Judged &j) {
  double b1 = j.real("beta1"), b2 = j.real("beta2"), rate = j.in(5, 0), step = j.in(6, 0);
  if (step == 0)
    return; // nothing is done: equal bits
  auto m = [&](int64_t i) { return std::abs(b1 * j.in(2, i)) + std::abs((1 - b1) * j.in(1, i) * j.in(4, 0)); };
  j.each(1, [&](int64_t i) { return 4 * j.uA * m(i); });
  j.each(2, [&](int64_t i) { return 6 * j.uA * j.expected[2].get(i); });
  j.each(0, [&](int64_t i) {
    double root = std::sqrt(j.expected[2].get(i) / (1 - std::pow(b2, step))) + j.real("epsilon");
    double update = rate / (1 - std::pow(b1, step)) * m(i) / root;
    return j.uA * (14 * update + 3 * std::abs(rate * j.real("weight_decay") * j.in(0, i)) + std::abs(j.in(0, i)));
  });
}

/// y + x in the wider of the two dtypes, at least f32.
static void accumulate(Judged &j) {
  j.each(0,
         [&](int64_t i) { return roundoff(DType::F32) * (std::abs(j.in(0, i)) + std::abs(j.kase.outputs[0].get(i))); });
}

static const std::map<std::string, void (*)(Judged &)> table = {
    {"accumulate", accumulate},
    {"accumulate_nodes", accumulateTree},
    {"accumulate_tree", accumulateTree},
    {"adamw", adamW},
    {"add", addition},
    {"add_n", addition},
    {"adjust_loss_scale", exact},
    {"attention", bounds::attention},
    {"attention_grad", bounds::attentionGrad},
    {"cast", exact},
    {"clip_scale", scalars},
    {"copy", exact},
    {"cross_entropy", bounds::crossEntropy},
    {"cross_entropy_grad", bounds::crossEntropyGrad},
    {"divide", scalars},
    {"dropout", dropout},
    {"embedding", exact},
    {"embedding_grad", embeddingGrad},
    {"fill", exact},
    {"gelu", gelu},
    {"gelu_grad", geluGrad},
    {"head_norm", bounds::headNorm},
    {"head_norm_grad", bounds::headNormGrad},
    {"layer_norm", bounds::layerNorm},
    {"layer_norm_grad", bounds::layerNormGrad},
    {"linear", linear},
    {"linear_dgrad", linear},
    {"linear_dgrad_sum", linearDgradSum},
    {"linear_wgrad", linearWgrad},
    {"loss_statistics", bounds::lossStatistics},
    {"rms_norm", bounds::rmsNorm},
    {"rms_norm_grad", bounds::rmsNormGrad},
    {"rope", rope},
    {"slice", exact},
    {"stack_nodes", exact},
    {"sum_leading", sumLeading},
    {"sum_nodes", sumNodes},
    {"sum_positions", sumPositions},
    {"sum_squares", sumSquares},
    {"swiglu", swiglu},
    {"swiglu_grad", swigluGrad},
    {"token_loss", bounds::tokenLoss},
};

Bounds tgpt::test::errorBounds(const Case &kase, const std::vector<Tensor> &expected, bool roundsShares) {
  Judged judged(kase, expected);
  judged.roundsShares = roundsShares;
  table.at(kase.kernel)(judged);
  return judged.bounds;
}
