//===- EmulatedAttention.cpp - what cuDNN does, on the host -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/emulation/EmulatedAttention.h"
#include "runtime/kernels/api/BFloat16.h"
#include "runtime/kernels/api/Float16.h"
#include "runtime/kernels/cuda/cudnn/AttentionKernels.h"
#include "runtime/kernels/cuda/emulation/EmulatedProducts.h"

#include <chrono>
#include <cmath>
#include <limits>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

namespace {
struct Bf16 {
  using Stored = BFloat16;
  static Stored round(float x) { return toBFloat16(x); }
};
struct F16 {
  using Stored = Float16;
  static Stored round(float x) { return toFloat16(x); }
};

/// One query head of one sample, and the KV head that it sees.
template <typename Type> class Head {
public:
  using T = typename Type::Stored;

  Head(const AttentionProblem &p, int64_t b, int64_t head)
      : p(p), b(b), head(head), queries(p.queryLayout()), keys(p.keyLayout()), rows(p.statisticsLayout()),
        kvHead(head / (p.heads / p.kvHeads)) {}

  void forward() const {
    std::vector<float> scores(p.sequence), sums(p.headDim);
    for (int64_t i = 0; i < p.sequence; ++i) {
      float most = -std::numeric_limits<float>::infinity(), total = 0;
      for (int64_t j = 0; j < visible(i); ++j)
        most = std::max(most, scores[j] = float(p.scale) * dot(p.q, i, p.k, j));
      std::fill(sums.begin(), sums.end(), 0.0f);
      for (int64_t j = 0; j < visible(i); ++j) {
        float exponential = std::exp(scores[j] - most), rounded = toFloat(Type::round(exponential));
        total += exponential;
        for (int64_t e = 0; e < p.headDim; ++e)
          sums[e] += rounded * value(p.v, keyAt(j, e));
      }
      for (int64_t e = 0; e < p.headDim; ++e)
        static_cast<T *>(p.o)[queryAt(i, e)] = Type::round(sums[e] / total);
      static_cast<float *>(p.statistics)[rows.at(b, head, i, 0)] = most + std::log(total);
    }
  }

  /// `scoreGradients` [sequence, sequence], `dkShare` and `dvShare` [sequence, headDim].
  void backward(T *scoreGradients, float *dkShare, float *dvShare) const {
    std::fill_n(dkShare, p.sequence * p.headDim, 0.0f);
    std::fill_n(dvShare, p.sequence * p.headDim, 0.0f);
    for (int64_t i = 0; i < p.sequence; ++i)
      backwardRow(i, scoreGradients + i * p.sequence, dkShare, dvShare);
    std::vector<float> sums(p.headDim);
    for (int64_t i = 0; i < p.sequence; ++i) {
      std::fill(sums.begin(), sums.end(), 0.0f);
      for (int64_t j = 0; j < visible(i); ++j)
        for (int64_t e = 0; e < p.headDim; ++e)
          sums[e] += toFloat(scoreGradients[i * p.sequence + j]) * value(p.k, keyAt(j, e));
      for (int64_t e = 0; e < p.headDim; ++e)
        static_cast<T *>(p.dq)[queryAt(i, e)] = Type::round(sums[e]);
    }
  }

private:
  void backwardRow(int64_t i, T *scoreGradients, float *dkShare, float *dvShare) const {
    float lse = static_cast<const float *>(p.statistics)[rows.at(b, head, i, 0)], total = 0;
    for (int64_t e = 0; e < p.headDim; ++e)
      total += value(p.dout, queryAt(i, e)) * value(p.o, queryAt(i, e));
    for (int64_t j = 0; j < visible(i); ++j) {
      float probability = std::exp(float(p.scale) * dot(p.q, i, p.k, j) - lse);
      float rounded = toFloat(Type::round(probability));
      scoreGradients[j] = Type::round(float(p.scale) * probability * (dot(p.dout, i, p.v, j) - total));
      for (int64_t e = 0; e < p.headDim; ++e) {
        dkShare[j * p.headDim + e] += toFloat(scoreGradients[j]) * value(p.q, queryAt(i, e));
        dvShare[j * p.headDim + e] += rounded * value(p.dout, queryAt(i, e));
      }
    }
  }

  int64_t visible(int64_t i) const { return p.causal ? i + 1 : p.sequence; }
  int64_t queryAt(int64_t i, int64_t e) const { return queries.at(b, head, i, e); }
  int64_t keyAt(int64_t j, int64_t e) const { return keys.at(b, kvHead, j, e); }
  static float value(const void *from, int64_t i) { return toFloat(static_cast<const T *>(from)[i]); }
  float dot(const void *ofQueries, int64_t i, const void *ofKeys, int64_t j) const {
    float sum = 0;
    for (int64_t e = 0; e < p.headDim; ++e)
      sum += value(ofQueries, queryAt(i, e)) * value(ofKeys, keyAt(j, e));
    return sum;
  }

  const AttentionProblem &p;
  int64_t b, head;
  HeadLayout queries, keys, rows;
  int64_t kvHead;
};

/// Shares of query heads that see one KV head, each rounded where there are several, added in their order.
template <typename Type>
void storeKeyGradients(const AttentionProblem &p, int64_t b, int64_t kvHead, const float *shares, void *to) {
  HeadLayout keys = p.keyLayout();
  int64_t size = p.sequence * p.headDim;
  for (int64_t j = 0; j < p.sequence; ++j)
    for (int64_t e = 0; e < p.headDim; ++e) {
      float sum = 0;
      for (int64_t member = 0; member < p.heads / p.kvHeads; ++member) {
        float share = shares[member * size + j * p.headDim + e];
        sum += p.isGrouped() ? toFloat(Type::round(share)) : share;
      }
      static_cast<typename Type::Stored *>(to)[keys.at(b, kvHead, j, e)] = Type::round(sum);
    }
}
} // namespace

/// Without groups a share is the gradient, and no memory is asked for it.
template <typename Type> static KernelStatus attendIn(const AttentionProblem &p, void *memory) {
  using T = typename Type::Stored;
  int64_t group = p.heads / p.kvHeads, size = p.sequence * p.headDim;
  T *scores = static_cast<T *>(memory);
  size_t scoreBytes = Scratch::roundUp(size_t(p.batch * p.heads * p.sequence * p.sequence) * sizeof(T));
  float *shares =
      p.isGradient && p.isGrouped() ? reinterpret_cast<float *>(static_cast<char *>(memory) + scoreBytes) : nullptr;
  std::vector<float> ungrouped(p.isGradient && !shares ? 2 * size : 0);
  float *dk = shares ? shares : ungrouped.data(), *dv = p.isGradient ? dk + group * size : nullptr;
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t kvHead = 0; kvHead < p.kvHeads; ++kvHead) {
      for (int64_t member = 0; member < group; ++member) {
        Head<Type> head(p, b, kvHead * group + member);
        if (!p.isGradient) {
          head.forward();
          continue;
        }
        int64_t at = (b * p.heads + kvHead * group + member) * p.sequence * p.sequence;
        head.backward(scores + at, dk + member * size, dv + member * size);
      }
      if (p.isGradient) {
        storeKeyGradients<Type>(p, b, kvHead, dk, p.dk);
        storeKeyGradients<Type>(p, b, kvHead, dv, p.dv);
      }
    }
  return {};
}

KernelStatus emulated::attend(const AttentionProblem &p, void *memory) {
  return p.dtype == DType::BF16 ? attendIn<Bf16>(p, memory) : attendIn<F16>(p, memory);
}

namespace {
struct LibraryOnTheHost {
  static std::string version() { return "emulated cudnn"; }
  static bool keepsScores() { return true; }
  static KernelStatus open() {
    keptAlgorithms().open("emulated device");
    return {};
  }
  static bool supports(const AttentionProblem &) { return true; }
  static KernelStatus run(const AttentionProblem &problem, void *memory) { return emulated::attend(problem, memory); }
  static bool mayMeasure() { return true; }
  static std::optional<double> seconds(const std::function<KernelStatus()> &work) {
    auto begin = std::chrono::steady_clock::now();
    if (!work().ok())
      return std::nullopt;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
};
} // namespace

std::span<const DeviceKernel> emulated::attentionTable() {
  static const std::vector<DeviceKernel> table = AttentionKernels<LibraryOnTheHost, productTable>::table();
  return table;
}
