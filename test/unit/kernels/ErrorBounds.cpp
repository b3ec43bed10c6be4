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
#include "test/unit/kernels/ErrorBounds.h"
#include "runtime/kernels/api/Philox.h"
#include "runtime/kernels/api/TypeDispatch.h"

#include <cmath>
#include <map>

using namespace tgpt::runtime;
using namespace tgpt::test;

using Bounds = std::vector<std::vector<double>>;

/// exp of the kernels is 0 below 2^-125.5; products of that with operands below 2^10.
static constexpr double underflow = 1e-34;

static double roundoff(DType dtype) {
  switch (dtype) {
  case DType::F64: return std::ldexp(1, -53);
  case DType::F32: return std::ldexp(1, -24);
  case DType::BF16: return std::ldexp(1, -8);
  case DType::F16: return std::ldexp(1, -11);
  case DType::I32: return 0;
  }
  return 0;
}

/// Half of the smallest number, where that is met.
static double subnormal(DType dtype) {
  return dtype == DType::F16 ? std::ldexp(1, -25) : 0;
}

namespace {
/// A case, what the reference gives, and the bounds being filled in.
struct Judged {
  const Case &kase;
  const std::vector<Tensor> &expected;
  double uA, uT, least; ///< least: half the smallest number of the storage type
  Bounds bounds;

  Judged(const Case &kase, const std::vector<Tensor> &expected)
      : kase(kase), expected(expected), uA(roundoff(accumulatorOf(kase.compute))), uT(roundoff(kase.compute)),
        least(subnormal(kase.compute)) {
    for (const Tensor &output : expected)
      bounds.emplace_back(output.elements(), 0.0);
  }
  double in(size_t input, int64_t i) const { return kase.inputs[input].get(i); }
  double real(const char *name) const { return kase.attributes.real(name); }
  int64_t integer(const char *name) const { return kase.attributes.integer(name); }
  /// bounds = arithmetic(i) + rounding of the stored value (kernel and reference).
  template <typename Arithmetic> void each(size_t output, Arithmetic arithmetic) {
    double stored = 2 * roundoff(expected[output].dtype()), least = 2 * subnormal(expected[output].dtype());
    for (int64_t i = 0; i < expected[output].elements(); ++i)
      bounds[output][i] = arithmetic(i) + std::max(stored * std::abs(expected[output].get(i)), least);
  }
  std::vector<Tensor> magnitude() const;
};
} // namespace

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

static int64_t rowsOf(const Tensor &tensor) {
  return tensor.elements() / tensor.dim(-1);
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

/// rstd: sum of d squares (relative d uA, halved by the root), division, root.
static double rstdError(const Judged &j, int64_t d) {
  return (double(d) / 2 + 5) * j.uA;
}

static void rmsNorm(Judged &j) {
  int64_t d = j.kase.inputs[0].dim(-1);
  j.each(0, [&](int64_t i) { return (rstdError(j, d) + 3 * j.uA) * std::abs(j.expected[0].get(i)); });
  j.each(1, [&](int64_t i) { return rstdError(j, d) * j.expected[1].get(i); });
}

/// dx: g and the dot product of the row, each with its own magnitude.
static void rmsNormGrad(Judged &j) {
  int64_t d = j.kase.inputs[1].dim(-1);
  std::vector<Tensor> magnitude = j.magnitude();
  j.each(0, [&](int64_t i) {
    int64_t row = i / d;
    double r = j.in(3, row), dot = 0, g = std::abs(j.in(0, i) * j.in(2, i % d));
    for (int64_t e = row * d; e < row * d + d; ++e)
      dot += std::abs(j.in(0, e) * j.in(2, e % d) * j.in(1, e));
    return r * j.uA * (3 * g + double(d + 7) * std::abs(j.in(1, i)) * r * r * dot / double(d));
  });
  j.each(1, [&](int64_t i) { return double(rowsOf(j.kase.inputs[1]) + 4) * j.uA * magnitude[1].get(i); });
}

/// As the norm of a row, a head being one; rstd's own error enters the gradient.
static void headNorm(Judged &j) {
  int64_t c = j.kase.inputs[1].dim(0);
  j.each(0, [&](int64_t i) { return (rstdError(j, c) + 3 * j.uA) * std::abs(j.expected[0].get(i)); });
}

static void headNormGrad(Judged &j) {
  int64_t c = j.kase.inputs[2].dim(0), heads = j.kase.inputs[1].elements() / c;
  int64_t headsOfSum = heads / (j.expected[1].elements() / c);
  std::vector<double> dw(j.expected[1].elements());
  auto rstd = [&](int64_t head) {
    double squares = 0;
    for (int64_t e = head * c; e < head * c + c; ++e)
      squares += j.in(1, e) * j.in(1, e);
    return 1 / std::sqrt(squares / double(c) + j.real("epsilon"));
  };
  j.each(0, [&](int64_t i) {
    int64_t head = i / c;
    double r = rstd(head), dot = 0, g = std::abs(j.in(0, i) * j.in(2, i % c));
    for (int64_t e = head * c; e < head * c + c; ++e)
      dot += std::abs(j.in(0, e) * j.in(2, e % c) * j.in(1, e));
    double slope = std::abs(j.in(1, i)) * r * r * dot / double(c);
    dw[head / headsOfSum * c + i % c] += std::abs(j.in(0, i) * j.in(1, i)) * r;
    return r * (j.uA * (3 * g + double(c + 7) * slope) + rstdError(j, c) * (g + 3 * slope));
  });
  j.each(1, [&](int64_t i) {
    double added = j.kase.accumulates(1) ? std::abs(j.kase.outputs[1].get(i)) : 0.0;
    return (double(heads + 4) * j.uA + rstdError(j, c)) * dw[i] + double(heads + 4) * j.uA * added;
  });
}

/// The scale 1 / (1 - probability) and the product. An element that one of the two drops
/// and the other keeps is far out of bounds.
static void dropout(Judged &j) {
  j.each(0, [&](int64_t i) { return 2 * j.uA * std::abs(j.expected[0].get(i)); });
}

/// mean: a sum. variance: the mean's error enters squared (the linear term cancels),
/// plus the rounding of x - mean. y: absolute error of x - mean, times rstd w.
static void layerNorm(Judged &j) {
  int64_t d = j.kase.inputs[0].dim(-1);
  auto meanError = [&](int64_t row) {
    double sum = 0;
    for (int64_t e = row * d; e < row * d + d; ++e)
      sum += std::abs(j.in(0, e));
    return double(d + 1) * j.uA * sum / double(d);
  };
  auto relative = [&](int64_t row) {
    double slip = meanError(row) * j.expected[2].get(row);
    return rstdError(j, d) + 3 * j.uA + slip * slip;
  };
  j.each(0, [&](int64_t i) {
    int64_t row = i / d;
    double centred = std::abs(j.in(0, i) - j.expected[1].get(row));
    double scale = j.expected[2].get(row) * std::abs(j.in(1, i % d));
    return scale * (meanError(row) + centred * relative(row)) + 2 * j.uA * std::abs(j.in(2, i % d));
  });
  j.each(1, meanError);
  j.each(2, [&](int64_t row) { return relative(row) * j.expected[2].get(row); });
}

/// Sums over the row of |g| and |g n|, each with d terms; sums over rows for dw, dbias.
static void layerNormGrad(Judged &j) {
  int64_t d = j.kase.inputs[1].dim(-1), rows = rowsOf(j.kase.inputs[1]);
  auto n = [&](int64_t i) { return (std::abs(j.in(1, i)) + std::abs(j.in(3, i / d))) * j.in(4, i / d); };
  j.each(0, [&](int64_t i) {
    int64_t row = i / d;
    double sumG = 0, sumGN = 0;
    for (int64_t e = row * d; e < row * d + d; ++e) {
      double g = std::abs(j.in(0, e) * j.in(2, e % d));
      sumG += g / double(d);
      sumGN += g * n(e) / double(d);
    }
    double own = std::abs(j.in(0, i) * j.in(2, i % d));
    return j.in(4, row) * j.uA * (4 * own + double(d + 4) * sumG + double(d + 8) * n(i) * sumGN);
  });
  int64_t sums = j.expected[1].elements() / d;
  std::vector<double> dw(sums * d), dbias(sums * d);
  for (int64_t i = 0; i < rows * d; ++i) {
    int64_t at = i / d / (rows / sums) * d + i % d;
    dw[at] += std::abs(j.in(0, i)) * n(i);
    dbias[at] += std::abs(j.in(0, i));
  }
  auto added = [&](size_t o, int64_t i) { return j.kase.accumulates(o) ? std::abs(j.kase.outputs[o].get(i)) : 0.0; };
  j.each(1, [&](int64_t i) { return double(rows + 4) * j.uA * (dw[i] + added(1, i)); });
  j.each(2, [&](int64_t i) { return double(rows + 2) * j.uA * (dbias[i] + added(2, i)); });
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

/// Relative error of a sum of exp(x - shift) over a row: v additions, and in each
/// term the rounding of x - shift (below `range`) and of exp.
static double exponentialSumError(const Judged &j, int64_t v, double range) {
  return j.uA * (double(v) + 3 + range);
}

static double rangeOf(const Judged &j, int64_t row, double shift) {
  int64_t v = j.kase.inputs[0].dim(-1);
  double range = 0;
  for (int64_t e = row * v; e < row * v + v; ++e)
    range = std::max(range, std::abs(j.in(0, e) - shift));
  return range;
}

/// Errors of the loss terms beyond lse - label's logit: z lse^2 has that of lse, doubled
/// and scaled; the mean logit is a sum of `terms` terms of total size `magnitude`.
static double termsError(const Judged &j, double lse, double lseError, int64_t terms, double magnitude) {
  double e = j.real("label_smoothing"), z = j.real("z_loss");
  return z * (2 * std::abs(lse) * lseError + 3 * j.uA * lse * lse) + e * double(terms + 2) * j.uA * magnitude;
}

static double meanMagnitude(const Judged &j, int64_t row) {
  int64_t v = j.kase.inputs[0].dim(-1), vocabulary = j.integer("vocabulary");
  double sum = 0;
  for (int64_t e = row * v; e < row * v + v; ++e)
    sum += std::abs(j.in(0, e));
  return sum / double(vocabulary > 0 ? std::min(vocabulary, v) : v); // padding is no term of the mean
}

/// lse = max + log(sum): the sum's relative error becomes absolute. The tokens are
/// added in f64, so the loss has the errors of its tokens.
static void crossEntropy(Judged &j) {
  int64_t v = j.kase.inputs[0].dim(-1);
  double loss = 0;
  j.each(2, [&](int64_t t) {
    double lse = j.expected[2].get(t);
    double error = exponentialSumError(j, v, rangeOf(j, t, lse) + 1) + 2 * j.uA * (std::abs(lse) + 10);
    if (j.in(1, t) >= 0)
      loss += error + 2 * j.uA * std::abs(lse) + termsError(j, lse, error, v, meanMagnitude(j, t));
    return error;
  });
  j.each(0, [&](int64_t) { return loss; });
}

static void crossEntropyGrad(Judged &j) {
  int64_t v = j.kase.inputs[0].dim(-1);
  double dloss = std::abs(j.in(3, 0)), e = j.real("label_smoothing");
  double uniform = e == 0 ? 0 : e / double(j.integer("vocabulary"));
  j.each(0, [&](int64_t i) {
    double x = j.in(0, i) - j.in(2, i / v), p = std::exp(x) * (1 + 2 * j.real("z_loss") * std::abs(j.in(2, i / v)));
    bool isLabel = int64_t(j.in(1, i / v)) - j.integer("vocab_offset") == i % v;
    double operations = 3 + std::abs(x) + (j.real("z_loss") == 0 ? 0 : 4);
    return dloss * (p * j.uA * operations + (isLabel ? 2 * j.uA : 0) + 4 * j.uA * uniform) + underflow;
  });
}

static void softmaxSums(Judged &j) {
  int64_t v = j.kase.inputs[0].dim(-1);
  j.each(0, [&](int64_t t) {
    return exponentialSumError(j, v, rangeOf(j, t, j.in(2, t))) * j.expected[0].get(t) + double(v) * underflow;
  });
}

static void rowMean(Judged &j) {
  sumOfProducts(j, j.kase.inputs[0].dim(-1));
}

/// The tokens are added in f64, their chunks in A.
static void tokenLoss(Judged &j) {
  double loss = 0, magnitude = 0, e = j.real("label_smoothing");
  j.each(2, [&](int64_t t) {
    double lse = std::abs(j.expected[2].get(t)), error = j.uA * (2 * lse + std::abs(j.in(1, t)) + 10);
    double mean = j.kase.inputs.size() > 4 ? std::abs(j.in(4, t)) : 0;
    if (j.in(0, t) >= 0) {
      loss += error + termsError(j, lse, error, 1, mean);
      magnitude += lse + std::abs(j.in(3, t)) + e * mean + j.real("z_loss") * lse * lse;
    }
    return error;
  });
  double additions = double(j.expected[2].elements()) * roundoff(DType::F64) + double(j.integer("chunks") + 1) * j.uA;
  j.each(0, [&](int64_t) { return loss + additions * magnitude; });
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

namespace {
/// One attention call seen as matrices, with the errors of scores.
struct AttentionView {
  AttentionView(const Judged &j, size_t q, size_t k, size_t samples)
      : j(j), q(q), k(k), samples(samples), c(j.integer("head_dim")), batch(j.kase.inputs[q].dim(0)),
        sequence(j.kase.inputs[q].dim(1)), heads(j.kase.inputs[q].dim(2) / c), kvHeads(j.kase.inputs[k].dim(2) / c),
        scale(j.real("scale")), causal(j.integer("causal")) {}
  int64_t at(int64_t b, int64_t i, int64_t h, int64_t e) const { return ((b * sequence + i) * heads + h) * c + e; }
  int64_t kvAt(int64_t b, int64_t i, int64_t h, int64_t e) const {
    return ((b * sequence + i) * kvHeads + h / (heads / kvHeads)) * c + e;
  }
  int64_t visible(int64_t i) const { return causal ? i + 1 : sequence; }
  /// What dropout makes of a probability (KERNELS.md); 1 without.
  double factor(int64_t b, int64_t h, int64_t i, int64_t key) const {
    if (j.kase.inputs.size() <= samples)
      return 1;
    uint64_t stream = uint64_t(j.integer("key"));
    uint32_t head = uint32_t(j.integer("width_offset") / c + h);
    auto words = philox4x32({uint32_t(key / 4) + (head << 20), uint32_t(i), uint32_t(int64_t(j.in(samples, b))),
                             uint32_t(int64_t(j.in(samples + 1, 0)))},
                            {uint32_t(stream), uint32_t(stream >> 32)});
    return words[key % 4] >= j.real("dropout") * 0x1p32 ? 1 / (1 - j.real("dropout")) : 0;
  }
  struct Sum {
    double value = 0, magnitude = 0;
  };
  /// Row i of input `rows` (laid out as q) times row `key` of input `columns` (as k).
  Sum dot(size_t rows, size_t columns, int64_t b, int64_t h, int64_t i, int64_t key) const {
    Sum sum;
    for (int64_t e = 0; e < c; ++e) {
      double term = j.in(rows, at(b, i, h, e)) * j.in(columns, kvAt(b, key, h, e));
      sum.value += term;
      sum.magnitude += std::abs(term);
    }
    return sum;
  }
  template <typename Body> void forRows(Body body) const {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < sequence; ++i)
          body(b, h, i);
  }

  const Judged &j;
  size_t q, k, samples;
  int64_t c, batch, sequence, heads, kvHeads;
  double scale;
  bool causal;
};
} // namespace

/// A score has error es = (c+3) uA scale sum|q||k|. Probabilities of a row then have
/// relative error 2 max es + (keys + 6 + range) uA, plus uT where they are rounded to
/// T; o adds the product's keys uA.
static void attention(Judged &j) {
  AttentionView a(j, 0, 1, 3);
  std::vector<double> o(j.expected[0].elements());
  a.forRows([&](int64_t b, int64_t h, int64_t i) {
    int64_t row = (b * a.heads + h) * a.sequence + i, keys = a.visible(i);
    double lse = j.expected[1].get(row), worst = 0, range = 0;
    std::vector<double> p(keys);
    for (int64_t key = 0; key < keys; ++key) {
      auto score = a.dot(0, 1, b, h, i, key);
      p[key] = std::exp(a.scale * score.value - lse);
      worst = std::max(worst, double(a.c + 3) * j.uA * std::abs(a.scale) * score.magnitude);
      range = std::max(range, std::abs(a.scale * score.value - lse));
    }
    double sumError = worst + j.uA * (double(keys) + 5 + range);
    j.bounds[1][row] = sumError + 4 * j.uA * (std::abs(lse) + range);
    for (int64_t e = 0; e < a.c; ++e)
      for (int64_t key = 0; key < keys; ++key)
        o[a.at(b, i, h, e)] +=
            ((worst + sumError + j.uT + double(keys + 4) * j.uA) * p[key] * a.factor(b, h, i, key) + j.least) *
            std::abs(j.in(2, a.kvAt(b, key, h, e)));
  });
  j.each(0, [&](int64_t i) { return o[i]; });
}

/// p has relative error es + (3 + |score - lse|) uA; ds that, and the absolute errors
/// of do v^T and D; both are rounded to T. dq, dk, dv sum these over keys or rows.
static void attentionGrad(Judged &j) {
  AttentionView a(j, 1, 2, 6);
  std::vector<double> dq(j.expected[0].elements()), dk(j.expected[1].elements()), dv(dk.size());
  double sums = double(a.sequence * (a.heads / a.kvHeads) + 2) * j.uA;
  a.forRows([&](int64_t b, int64_t h, int64_t i) {
    double lse = j.in(5, (b * a.heads + h) * a.sequence + i), total = 0, totalMagnitude = 0;
    for (int64_t e = 0; e < a.c; ++e) {
      double term = j.in(0, a.at(b, i, h, e)) * j.in(4, a.at(b, i, h, e));
      total += term;
      totalMagnitude += std::abs(term);
    }
    for (int64_t key = 0; key < a.visible(i); ++key) {
      auto score = a.dot(1, 2, b, h, i, key), dp = a.dot(0, 3, b, h, i, key);
      double x = a.scale * score.value - lse, p = std::exp(x);
      double relative = double(a.c + 3) * j.uA * std::abs(a.scale) * score.magnitude + j.uA * (3 + 2 * std::abs(x));
      double factor = a.factor(b, h, i, key), ds = std::abs(a.scale * p * (factor * dp.value - total));
      double dsError = ds * (relative + 3 * j.uA + j.uT) +
                       std::abs(a.scale) * p * double(a.c + 4) * j.uA * (factor * dp.magnitude + totalMagnitude) +
                       j.least;
      for (int64_t e = 0; e < a.c; ++e) {
        int64_t at = a.at(b, i, h, e), kvAt = a.kvAt(b, key, h, e);
        dq[at] += (dsError + sums * ds) * std::abs(j.in(2, kvAt));
        dk[kvAt] += (dsError + sums * ds) * std::abs(j.in(1, at));
        dv[kvAt] += (factor * p * (relative + 2 * j.uA + j.uT + sums) + j.least) * std::abs(j.in(0, at));
      }
    }
  });
  j.each(0, [&](int64_t i) { return dq[i]; });
  j.each(1, [&](int64_t i) { return dk[i]; });
  j.each(2, [&](int64_t i) { return dv[i]; });
}

static const std::map<std::string, void (*)(Judged &)> table = {
    {"accumulate", accumulate},
    {"accumulate_tree", accumulateTree},
    {"adamw", adamW},
    {"add", addition},
    {"add_n", addition},
    {"adjust_loss_scale", exact},
    {"attention", attention},
    {"attention_grad", attentionGrad},
    {"cast", exact},
    {"clip_scale", scalars},
    {"copy", exact},
    {"cross_entropy", crossEntropy},
    {"cross_entropy_grad", crossEntropyGrad},
    {"divide", scalars},
    {"dropout", dropout},
    {"embedding", exact},
    {"embedding_grad", embeddingGrad},
    {"fill", exact},
    {"gelu", gelu},
    {"gelu_grad", geluGrad},
    {"head_norm", headNorm},
    {"head_norm_grad", headNormGrad},
    {"layer_norm", layerNorm},
    {"layer_norm_grad", layerNormGrad},
    {"linear", linear},
    {"linear_dgrad", linear},
    {"linear_dgrad_sum", linearDgradSum},
    {"linear_wgrad", linearWgrad},
    {"rms_norm", rmsNorm},
    {"rms_norm_grad", rmsNormGrad},
    {"rope", rope},
    {"row_max", exact},
    {"row_mean", rowMean},
    {"slice", exact},
    {"softmax_sums", softmaxSums},
    {"sum_leading", sumLeading},
    {"sum_positions", sumPositions},
    {"sum_squares", sumSquares},
    {"swiglu", swiglu},
    {"swiglu_grad", swigluGrad},
    {"token_loss", tokenLoss},
};

Bounds tgpt::test::errorBounds(const Case &kase, const std::vector<Tensor> &expected) {
  Judged judged(kase, expected);
  table.at(kase.kernel)(judged);
  return judged.bounds;
}
