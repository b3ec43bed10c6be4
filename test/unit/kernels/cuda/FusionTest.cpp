//===- FusionTest.cpp - pairs of kernels that one product does -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers: both kernels' formulas in f64, the first one's result not rounded in
// between. The rules: what a plan's memory allows, and a program run both ways.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cublaslt/ProductKernels.h"
#include "runtime/kernels/cuda/emulation/EmulatedProducts.h"
#include "test/unit/kernels/CaseBuilder.h"
#include "test/unit/kernels/Judged.h"
#include "test/unit/kernels/cuda/ArenaProgram.h"
#include "test/unit/kernels/cuda/EmulatedBuilds.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

static Tensor inF64(const Tensor &tensor) {
  Tensor wide(DType::F64, {tensor.elements() / tensor.dim(-1), tensor.dim(-1)});
  for (int64_t i = 0; i < tensor.elements(); ++i)
    wide.set(i, tensor.get(i));
  return wide;
}

namespace {
/// A formula's results in f64, and how far arithmetic in A may be from them.
struct Formula {
  Formula(std::string kernel, DType compute, std::vector<Tensor> inputs, std::vector<int64_t> shape)
      : kase{kernel, kernel, compute, std::move(inputs), {Tensor(DType::F64, std::move(shape))}, {}},
        value(kase.run(*findKernel(KernelBackend::Reference, kernel))[0]), bounds(errorBounds(kase, {value})[0]) {}
  Case kase;
  Tensor value;
  std::vector<double> bounds;
};

/// The operands of a fused call, and the pair's name.
struct Pair {
  std::string_view second;
  DType dtype;
  std::vector<Tensor> inputs, outputs;
  int64_t accumulate = 0;

  /// What the call leaves in the outputs.
  std::vector<Tensor> run() const {
    std::vector<Tensor> in = inputs, out = outputs;
    std::vector<TensorView> inViews, outViews;
    for (Tensor &tensor : in)
      inViews.push_back(tensor.view());
    for (Tensor &tensor : out)
      outViews.push_back(tensor.view());
    Attributes attributes;
    attributes.set("accumulate", accumulate);
    KernelCall call{inViews, outViews, &attributes};
    for (const cuda::FusedKernel &kernel : cuda::emulated::fusedKernels())
      if (kernel.second == second) {
        EmulatedQueue queue(kernel.workspaceBytes ? kernel.workspaceBytes(call) : 0);
        KernelStatus status = queue.judge(kernel.function(call));
        EXPECT_TRUE(status.ok()) << status.error;
      }
    for (const Tensor &tensor : out)
      EXPECT_TRUE(tensor.guardIntact());
    return out;
  }
};
} // namespace

static void expectWithin(const Tensor &got, const Tensor &value, const std::vector<double> &bounds,
                         const std::string &what) {
  double stored = roundoff(got.dtype()), least = subnormal(got.dtype());
  for (int64_t i = 0; i < got.elements(); ++i)
    ASSERT_LE(std::abs(got.get(i) - value.get(i)), bounds[i] + std::max(stored * std::abs(value.get(i)), least))
        << what << ", element " << i;
}

static Tensor filled(DType dtype, std::vector<int64_t> shape, double scale, uint32_t seed) {
  std::mt19937 random(seed);
  Tensor tensor(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.set(i, std::uniform_real_distribution<double>(-scale, scale)(random));
  return tensor;
}

static constexpr DType types[] = {DType::F32, DType::BF16, DType::F16};
static constexpr std::array<int64_t, 3> sizes[] = {{1, 1, 8}, {5, 3, 16}, {67, 65, 40}, {130, 96, 72}};
static constexpr double steepest = 1.13; ///< slope of gelu

TEST(FusedProducts, LinearAndGelu) {
  for (DType t : types)
    for (auto [rows, k, n] : sizes)
      for (bool hasBias : {false, true}) {
        Pair pair{"gelu", t, {filled(t, {rows, k}, 1, 1), filled(t, {n, k}, 1, 2)}, {}};
        if (hasBias)
          pair.inputs.push_back(filled(t, {n}, 1, 3));
        pair.outputs = {Tensor(t, {rows, n}), Tensor(t, {rows, n})};
        std::vector<Tensor> wide = {inF64(pair.inputs[0]), inF64(pair.inputs[1])};
        if (hasBias)
          wide.push_back(Tensor(DType::F64, {n})), wide[2] = filled(DType::F64, {n}, 0, 0);
        for (int64_t i = 0; hasBias && i < n; ++i)
          wide[2].set(i, pair.inputs[2].get(i));
        Formula y("linear", t, wide, {rows, n}), z("gelu", t, {y.value}, {rows, n});
        for (size_t i = 0; i < z.bounds.size(); ++i)
          z.bounds[i] += steepest * y.bounds[i];
        std::vector<Tensor> got = pair.run();
        expectWithin(got[0], y.value, y.bounds, "before gelu");
        expectWithin(got[1], z.value, z.bounds, "gelu");
      }
}

TEST(FusedProducts, LinearDgradAndGeluGrad) {
  for (DType t : types)
    for (auto [rows, n, k] : sizes) {
      Pair pair{"gelu_grad",
                t,
                {filled(t, {rows, n}, 1, 1), filled(t, {n, k}, 1, 2), filled(t, {rows, k}, 6, 3)},
                {Tensor(t, {rows, k})}};
      Formula dy("linear_dgrad", t, {inF64(pair.inputs[0]), inF64(pair.inputs[1])}, {rows, k});
      Formula dx("gelu_grad", t, {dy.value, inF64(pair.inputs[2])}, {rows, k});
      for (size_t i = 0; i < dx.bounds.size(); ++i)
        dx.bounds[i] += steepest * dy.bounds[i];
      expectWithin(pair.run()[0], dx.value, dx.bounds, "gelu_grad");
    }
}

TEST(FusedProducts, LinearWgradAndSumLeading) {
  for (DType t : types)
    for (auto [rows, n, k] : sizes)
      for (int64_t accumulate : {0, 1, 2, 3}) {
        DType a = accumulatorOf(t);
        Pair pair{"sum_leading", t, {filled(t, {rows, n}, 1, 1), filled(t, {rows, k}, 1, 2)}, {}, accumulate};
        pair.outputs = {filled(a, {n, k}, 3, 3), filled(a, {n}, 3, 4)};
        std::vector<Tensor> got = pair.run();
        for (int o : {0, 1}) {
          Case one{o ? "sum_leading" : "linear_wgrad", "", t, {pair.inputs[0]}, {pair.outputs[o]}, {}};
          if (o == 0)
            one.inputs.push_back(pair.inputs[1]);
          one.attributes.set("accumulate", accumulate >> o & 1);
          std::vector<Tensor> want = one.run(*findKernel(KernelBackend::Reference, one.kernel));
          auto bounds = errorBounds(one, want);
          for (int64_t i = 0; i < want[0].elements(); ++i)
            ASSERT_LE(std::abs(got[o].get(i) - want[0].get(i)), bounds[0][i]) << one.kernel;
        }
      }
}

namespace {
class Program : public ArenaProgram {
public:
  TensorView weight(int64_t at) { return view(at, {width, width}); }

  Program &add(std::string_view kernel, std::vector<TensorView> inputs, std::vector<TensorView> outputs,
               int64_t accumulate = 0, int64_t chunks = 0) {
    Attributes own;
    if (accumulate)
      own.set("accumulate", accumulate);
    if (chunks)
      own.set("chunks", chunks);
    addCall(kernel, std::move(inputs), std::move(outputs), std::move(own));
    return *this;
  }
  std::vector<cuda::FusedCall> fusions(std::span<const cuda::FusedKernel> kernels = cuda::emulated::fusedKernels()) {
    return cuda::findFusions(calls, kernels);
  }
  /// "0+3 1+2"
  std::string pairs() {
    std::string text;
    for (const cuda::FusedCall &call : fusions())
      text += (text.empty() ? "" : " ") + std::to_string(call.first) + "+" + std::to_string(call.second);
    return text;
  }
};
} // namespace

/// The backward of an MLP, as plans have it: the gelu's gradient after all of the down projection.
TEST(Fusion, ThePairsOfAnMlp) {
  Program p;
  p.add("linear", {p.view(0), p.weight(1), p.vector(3)}, {p.view(4)})
      .add("gelu", {p.view(4)}, {p.view(5)})
      .add("linear_dgrad", {p.view(6), p.weight(1)}, {p.view(7)})
      .add("linear_wgrad", {p.view(6), p.view(5)}, {p.weight(8)}, 1)
      .add("sum_leading", {p.view(6)}, {p.vector(10)}, 1)
      .add("gelu_grad", {p.view(7), p.view(4)}, {p.view(7)});
  EXPECT_EQ(p.pairs(), "0+1 2+5 3+4");
  std::vector<cuda::FusedCall> found = p.fusions();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].inputs.size(), 3u);
  EXPECT_EQ(found[0].outputs[1].data, p.view(5).data);
  EXPECT_EQ(found[1].inputs[2].data, p.view(4).data);
  EXPECT_EQ(found[1].outputs.size(), 1u);
  EXPECT_EQ(found[2].call().accumulates(0), true);
  EXPECT_EQ(found[2].call().accumulates(1), true);
}

TEST(Fusion, NotWhereMemoryForbidsIt) {
  auto forward = [](Program &p, int64_t gelu) -> Program & {
    return p.add("linear", {p.view(0), p.weight(1)}, {p.view(4)}).add("gelu", {p.view(4)}, {p.view(gelu)});
  };
  Program fine, overX, overWeight, overItself;
  EXPECT_EQ(forward(fine, 5).pairs(), "0+1");
  EXPECT_EQ(forward(overX, 0).pairs(), "") << "gelu's result lies where x was";
  EXPECT_EQ(forward(overWeight, 2).pairs(), "") << "or in the weight's second half";
  EXPECT_EQ(forward(overItself, 4).pairs(), "");
}

TEST(Fusion, NotWhereWhatIsBetweenForbidsIt) {
  auto with = [](auto between) {
    Program p;
    p.add("linear_dgrad", {p.view(0), p.weight(1)}, {p.view(4)});
    between(p);
    return p.add("gelu_grad", {p.view(4), p.view(5)}, {p.view(4)}).pairs();
  };
  EXPECT_EQ(with([](Program &p) { p.add("add", {p.view(5), p.view(0)}, {p.view(6)}); }), "0+2");
  EXPECT_EQ(with([](Program &p) { p.add("add", {p.view(4), p.view(0)}, {p.view(6)}); }), "") << "it takes dy w";
  EXPECT_EQ(with([](Program &p) { p.add("copy", {p.view(0)}, {p.view(5)}); }), "") << "it makes x";
  EXPECT_EQ(with([](Program &p) { p.add("copy", {p.view(0)}, {p.view(4)}); }), "") << "it makes dy w";
  EXPECT_EQ(with([](Program &p) { p.add("", {p.view(6)}, {p.view(6)}); }), "0+2");
  EXPECT_EQ(with([](Program &p) { p.add("", {p.view(5)}, {}); }), "") << "a wait for a collective on x";
  EXPECT_EQ(with([](Program &p) {
              for (int i = 0; i < 8; ++i)
                p.add("copy", {p.view(0)}, {p.view(6)});
            }),
            "")
      << "too far";
}

TEST(Fusion, NotWhatTheProductDoesNotDo) {
  Program apart, chunked, wide, another, elsewhere;
  apart.add("linear_dgrad", {apart.view(0), apart.weight(1)}, {apart.view(4)})
      .add("gelu_grad", {apart.view(4), apart.view(5)}, {apart.view(6)});
  EXPECT_EQ(apart.pairs(), "") << "somebody may take dy w";
  chunked.add("linear", {chunked.view(0), chunked.weight(1)}, {chunked.view(4)}, 0, 2)
      .add("gelu", {chunked.view(4)}, {chunked.view(5)});
  EXPECT_EQ(chunked.pairs(), "") << "an order is asked for";
  auto f64 = [&](TensorView view) {
    view.dtype = DType::F64;
    return view;
  };
  wide.add("linear", {f64(wide.view(0)), f64(wide.weight(2))}, {f64(wide.view(8))})
      .add("gelu", {f64(wide.view(8))}, {f64(wide.view(12))});
  EXPECT_EQ(wide.pairs(), "") << "f64 is not the library's";
  another.add("linear_wgrad", {another.view(0), another.view(3)}, {another.weight(4)})
      .add("sum_leading", {another.view(3)}, {another.vector(8)});
  EXPECT_EQ(another.pairs(), "") << "the sum is of x, not of dy";
  auto odd = [&](TensorView view) {
    view.data = view.as<float>() + 1;
    return view;
  };
  elsewhere.add("linear", {elsewhere.view(0), elsewhere.weight(1)}, {odd(elsewhere.view(4))})
      .add("gelu", {odd(elsewhere.view(4))}, {elsewhere.view(8)});
  EXPECT_EQ(elsewhere.pairs(), "") << "the library wants 16-byte addresses";
}

namespace {
/// A library without epilogues.
struct NoEpilogues {
  static std::span<const cuda::DeviceKernel> ordered() { return cuda::emulated::kernelTable(); }
  static bool supports(const cuda::ColumnMajorProduct &) { return false; }
  static KernelStatus multiply(const cuda::ColumnMajorProduct &p) { return cuda::emulated::multiply(p); }
};
} // namespace

/// A program on random places of a small arena gives the same bits with and without its pairs, done
/// one by one where the first stands.
TEST(Fusion, MovesNoCallPastOneThatMatters) {
  static const std::vector<cuda::DeviceKernel> table = cuda::ProductKernels<NoEpilogues>::table();
  static const std::vector<cuda::FusedKernel> kernels = cuda::ProductKernels<NoEpilogues>::fused();
  std::mt19937 random(5);
  auto run = [](std::string_view kernel, const KernelCall &call) {
    KernelStatus status = kernel.empty() ? KernelStatus() : cuda::kernelOf(table, kernel).entry.kernel.function(call);
    EXPECT_TRUE(status.ok()) << status.error;
  };
  size_t found = 0;
  EmulatedQueue queue(1 << 16);
  for (int round = 0; round < 300; ++round) {
    Program p;
    for (float &x : p.arena)
      x = float(random() % 17) / 8 - 1;
    auto at = [&](int64_t places) { return int64_t(random() % (8 - places + 1)); };
    for (int i = 0; i < 12; ++i) {
      TensorView a = p.view(at(1)), b = p.view(at(1)), w = p.weight(at(2)), v = p.vector(at(1));
      switch (random() % 6) {
      case 0: p.add("linear", {p.view(at(1)), w}, {a}).add("gelu", {a}, {b}); break;
      case 1: p.add("linear_dgrad", {p.view(at(1)), w}, {a}); break;
      case 2: p.add("gelu_grad", {a, b}, {a}); break;
      case 3: p.add("linear_wgrad", {a, b}, {w}, 1).add("sum_leading", {a}, {v}, 1); break;
      case 4: p.add("add", {a, b}, {a}); break;
      case 5:
        p.add("linear_dgrad", {p.view(at(1)), w}, {a}).add("copy", {b}, {p.view(at(1))}).add("gelu_grad", {a, b}, {a});
      }
    }
    // What a plan would refuse, a result over an operand, is left out.
    std::erase_if(p.calls, [](const cuda::PlannedCall &call) {
      for (const TensorView &out : call.call.outputs)
        for (const TensorView &in : call.call.inputs)
          if (out.data != in.data || !(call.kernel == "add" || call.kernel == "gelu_grad"))
            if (out.as<char>() < in.as<char>() + in.bytes() && in.as<char>() < out.as<char>() + out.bytes())
              return true;
      return false;
    });
    std::vector<cuda::FusedCall> fused = p.fusions(kernels);
    found += fused.size();
    const std::vector<float> before = p.arena;
    for (const cuda::PlannedCall &call : p.calls)
      run(call.kernel, call.call);
    std::vector<float> apart = p.arena;
    std::copy(before.begin(), before.end(), p.arena.begin());
    for (size_t i = 0; i < p.calls.size(); ++i) {
      auto is = [&](size_t cuda::FusedCall::*member) {
        return std::find_if(fused.begin(), fused.end(), [&](const cuda::FusedCall &call) { return call.*member == i; });
      };
      if (auto first = is(&cuda::FusedCall::first); first != fused.end())
        EXPECT_TRUE(first->kernel->function(first->call()).ok());
      else if (is(&cuda::FusedCall::second) == fused.end())
        run(p.calls[i].kernel, p.calls[i].call);
    }
    ASSERT_EQ(std::memcmp(apart.data(), p.arena.data(), apart.size() * sizeof(float)), 0) << "round " << round;
  }
  EXPECT_GT(found, 300u);
}
