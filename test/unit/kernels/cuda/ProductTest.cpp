//===- ProductTest.cpp - what cuBLASLt is asked for -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// That the descriptions of products say what the kernels compute is judged by the suite,
// which runs them on the host (EmulatedProducts.h), and for pairs of kernels by FusionTest.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cublaslt/AlgorithmCache.h"
#include "runtime/kernels/cuda/cublaslt/AlgorithmTimes.h"
#include "runtime/kernels/cuda/cublaslt/ColumnMajorProduct.h"
#include "runtime/kernels/cuda/cublaslt/ProductKernels.h"
#include "runtime/kernels/cuda/emulation/EmulatedProducts.h"
#include "runtime/plan/Error.h"
#include "test/unit/files/TemporaryDirectory.h"
#include "test/unit/kernels/ErrorBounds.h"
#include "test/unit/kernels/cuda/EmulatedBuilds.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace tgpt::runtime;
using namespace tgpt::test;

TEST(ColumnMajorProduct, KeyHasWhatTheAlgorithmDependsOn) {
  alignas(256) char memory[512];
  cuda::ColumnMajorProduct p{.inputType = DType::BF16, .outputType = DType::F32, .transposeA = true, .m = 8, .n = 5};
  p.k = 3, p.lda = 3, p.ldb = 4, p.ldc = 8, p.a = memory, p.b = memory + 16, p.c = memory + 256 + 2;
  EXPECT_EQ(p.key(), "bf16 f32 TN 8x5x3 ld 3,4,8 a256 b16 c2");
  p.bias = memory + 64, p.accumulate = true;
  EXPECT_EQ(p.key(), "bf16 f32 TN 8x5x3 ld 3,4,8 a256 b16 c2 bias64 accumulate");
  p.epilogue = cuda::Epilogue::Gelu, p.aux = memory + 32, p.tf32 = true;
  EXPECT_EQ(p.key(), "bf16 f32 TN 8x5x3 ld 3,4,8 a256 b16 c2 bias64 aux32 gelu tf32 accumulate");
  p.workspaceBytes = 4194304;
  EXPECT_EQ(p.key(), "bf16 f32 TN 8x5x3 ld 3,4,8 a256 b16 c2 bias64 aux32 gelu tf32 accumulate ws4194304");
}

namespace {
/// `y` = linear(x, w, bias) of [3, 4] by [8, 4], where the bias lies `offset` bytes behind a multiple of 256.
std::vector<float> linearWithBiasAt(std::span<const cuda::DeviceKernel> table, size_t offset) {
  alignas(256) static std::byte memory[2048];
  auto view = [](size_t at, std::initializer_list<int64_t> shape) {
    TensorView made;
    made.data = memory + at;
    made.rank = uint8_t(shape.size());
    std::copy(shape.begin(), shape.end(), made.shape.begin());
    for (int64_t i = 0; i < made.elements(); ++i)
      made.as<float>()[i] = float(i % 5) + 0.25f;
    return made;
  };
  TensorView inputs[] = {view(0, {3, 4}), view(256, {8, 4}), view(512 + offset, {8})}, output = view(1024, {3, 8});
  Attributes none;
  EXPECT_TRUE(cuda::kernelOf(table, "linear").entry.kernel.function({inputs, {&output, 1}, &none}).ok());
  return {output.as<float>(), output.as<float>() + output.elements()};
}
} // namespace

/// Algorithms access a bias 16 bytes at a time, and are not told where it lies: our kernel takes such a call.
TEST(ColumnMajorProduct, ABiasThatNoEpilogueCanReadIsNoEpilogues) {
  alignas(256) char memory[512];
  cuda::ColumnMajorProduct p;
  EXPECT_EQ(cuda::alignmentOfEpilogue(p), 256u);
  p.bias = memory + 32, p.aux = memory + 64;
  EXPECT_EQ(cuda::alignmentOfEpilogue(p), 32u);
  p.biasGradient = memory + 4;
  EXPECT_EQ(cuda::alignmentOfEpilogue(p), 4u);
  std::vector<float> expected = linearWithBiasAt(cuda::emulated::kernelTable(), 0);
  for (size_t offset : {0, 4, 8, 16})
    EXPECT_EQ(linearWithBiasAt(cuda::emulated::productTable(), offset), expected) << offset;
}

/// |error| <= (k + 2) 2^-24 + 2 * 2^-11 of sum|a||b|: each operand rounded to 10 bits of fraction.
TEST(Tf32, IsOffUnlessAskedForAndThenWithinItsBound) {
  int64_t judged = 0, different = 0;
  for (const Case &kase : allCases()) {
    if (kase.kernel != "linear" || kase.compute != DType::F32 || kase.attributes.integer("chunks") > 0 ||
        !isJudged(kase))
      continue;
    const Kernel &kernel = *findKernel(judgedBuilds()[2].table, "linear");
    std::vector<Tensor> exact = kase.run(*findKernel(KernelBackend::Reference, "linear")), off = kase.run(kernel);
    cuda::productOptions().tf32 = true;
    std::vector<Tensor> on = kase.run(kernel);
    cuda::productOptions().tf32 = false;
    auto bounds = errorBounds(kase, exact);
    double terms = double(kase.inputs[0].dim(-1)) + 2;
    for (int64_t i = 0; i < on[0].elements(); ++i) {
      double magnitude = bounds[0][i] / (terms * std::ldexp(1, -24));
      ASSERT_LE(std::abs(on[0].get(i) - exact[0].get(i)), bounds[0][i] + magnitude * std::ldexp(1, -10)) << kase.label;
      different += on[0].get(i) != off[0].get(i);
    }
    ++judged;
  }
  EXPECT_GE(judged, 5);
  EXPECT_GT(different, 100);
}

TEST(AlgorithmTimes, TheFirstWithin2PercentOfTheFastestIsChosen) {
  auto chosen = [](std::vector<double> times) {
    return cuda::fastest(int(times.size()), 3, [&](int i) -> std::optional<double> {
      return times[i] < 0 ? std::nullopt : std::optional(times[i]);
    });
  };
  EXPECT_EQ(chosen({2, 1.01, 1, 1.5}), 1);
  EXPECT_EQ(chosen({2, 1.03, 1, 1.5}), 2);
  EXPECT_EQ(chosen({-1, -1, 3}), 2) << "the others cannot run";
  EXPECT_EQ(chosen({-1, -1}), std::nullopt);
  EXPECT_EQ(chosen({}), std::nullopt);
}

/// A slow first round, as of a cold device, does not decide.
TEST(AlgorithmTimes, TheLeastOfSeveralRoundsCounts) {
  int calls = 0;
  auto time = [&](int i) -> std::optional<double> { return ++calls <= 2 ? 10.0 - i : i == 0 ? 1 : 2; };
  EXPECT_EQ(cuda::fastest(2, 3, time), 0);
  EXPECT_EQ(calls, 6);
}

static const cuda::AlgorithmBits someBits = {1, 0x8000000000000000u, 3, 4, 5, 6, 7, 0xfedcba9876543210u};

static std::string textOf(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(AlgorithmCache, SurvivesAFile) {
  TemporaryDirectory directory;
  std::string path = directory / "products";
  cuda::AlgorithmCache cache("cublasLt 1 a device");
  EXPECT_EQ(cache.load(path), "") << "there is no file yet";
  cache.add("bf16 f32 TN 8x5x3 a256 b16 c2", {someBits, true});
  cache.add("f32 f32 NN 1x1x1 a4 b4 c4 bias4", {});
  cache.save(path);
  cuda::AlgorithmCache again("cublasLt 1 a device");
  EXPECT_EQ(again.load(path), "");
  EXPECT_EQ(again.size(), 2u);
  const cuda::ChosenAlgorithm *found = again.find("bf16 f32 TN 8x5x3 a256 b16 c2");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bits, someBits);
  EXPECT_FALSE(found->isProven) << "the library has not seen it in this process";
  EXPECT_FALSE(again.find("bf16 f32 TN 8x5x3 a256 b16 c4"));
}

TEST(AlgorithmCache, KeepsWhoseKernelACallTakes) {
  TemporaryDirectory directory;
  std::string path = directory / "products";
  cuda::AlgorithmCache mine("owner"), other("owner");
  mine.take("attention bf16 1 x 2", "own");
  mine.save(path);
  other.take("attention bf16 1 x 2", "library");
  other.take("attention bf16 3 x 4", "library");
  other.save(path);
  EXPECT_EQ(mine.load(path), "");
  ASSERT_TRUE(mine.findTaken("attention bf16 3 x 4"));
  EXPECT_EQ(*mine.findTaken("attention bf16 1 x 2"), "own") << "what this process chose goes first";
  EXPECT_EQ(*mine.findTaken("attention bf16 3 x 4"), "library");
  EXPECT_FALSE(mine.findTaken("attention bf16 5 x 6"));
}

TEST(AlgorithmCache, KeepsWhatItHasAndWhatAnotherRankSaved) {
  TemporaryDirectory directory;
  std::string path = directory / "products";
  cuda::AlgorithmCache mine("owner"), other("owner"), both("owner");
  mine.add("a", {someBits, true});
  other.add("a", {});
  other.add("b", {});
  other.save(path);
  EXPECT_EQ(mine.load(path), "");
  EXPECT_EQ(mine.find("a")->bits, someBits) << "what this process chose goes first";
  mine.add("c", {});
  other.save(path);
  mine.save(path);
  EXPECT_EQ(both.load(path), "");
  EXPECT_EQ(both.size(), 3u);
}

TEST(AlgorithmCache, AnothersFileIsPassedOverAndReplaced) {
  TemporaryDirectory directory;
  std::string path = directory / "products";
  cuda::AlgorithmCache old("cublasLt 1 a device"), cache("cublasLt 2 a device");
  old.add("a", {});
  old.save(path);
  EXPECT_EQ(cache.load(path), path + ": algorithms are of another library or device (tgpt-products 3 cublasLt 1 a "
                                     "device), here is 'cublasLt 2 a device', they are chosen anew");
  EXPECT_EQ(cache.size(), 0u);
  cache.add("b", {});
  cache.save(path);
  EXPECT_EQ(old.load(path).substr(0, path.size() + 2), path + ": ");
}

/// Every file that differs in one byte, or ends early, is passed over as a whole.
TEST(AlgorithmCache, ADamagedFileIsPassedOver) {
  TemporaryDirectory directory;
  std::string path = directory / "products";
  cuda::AlgorithmCache cache("owner");
  cache.add("bf16 f32 TN 8x5x3 a256", {someBits, true});
  cache.take("attention bf16 1 x 2", "own");
  cache.save(path);
  const std::string whole = textOf(path);
  auto check = [&](const std::string &text, const std::string &what) {
    std::ofstream(path) << text;
    cuda::AlgorithmCache again("owner");
    EXPECT_NE(again.load(path), "") << what;
    EXPECT_EQ(again.size(), 0u) << what;
  };
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string text = whole;
    text[i] = text[i] == '0' ? '1' : '0';
    check(text, "byte " + std::to_string(i));
    if (i % 8 == 0)
      check(whole.substr(0, i), "length " + std::to_string(i));
  }
}

TEST(AlgorithmCache, AFileOfAnotherKindIsNotOverwritten) {
  TemporaryDirectory directory;
  std::string path = directory / "model.bin";
  std::ofstream(path) << "precious";
  cuda::AlgorithmCache cache("owner");
  EXPECT_EQ(cache.load(path), path + ": is no file of algorithms, they are chosen anew");
  EXPECT_THROW(cache.save(path), Error);
  EXPECT_EQ(textOf(path), "precious");
}
