//===- CutTest.cpp - a part of a tensor has the bits of the whole ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What --reduction=canonical rests on. A kernel's operands are cut into 2 and 4 parts
// as ranks and micro-batches would hold them: what is cut of an output must be that part
// of the whole output, and what is summed must give it when the parts are added in a
// tree (api/SumTree.h), to the last bit. Where the chunks of a part are no power of two,
// that holds for its nodes (cost/SumNodes.h). Without the attribute `chunks` it must not, or
// the test could not fail.
//
//===----------------------------------------------------------------------===//
#include "cost/SumNodes.h"
#include "runtime/kernels/api/SumTree.h"
#include "test/unit/kernels/Case.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {

using Shape = std::vector<int64_t>;
constexpr int whole = -1, summed = -2;

/// How a call is cut: of each operand the dim, or that it is whole (of an output: summed).
struct CutCall {
  const char *kernel;
  std::vector<Shape> inputs;
  std::vector<int> inputDims;
  std::vector<Shape> outputs;
  std::vector<int> outputDims;
  int64_t chunks; ///< of the whole; a part has as many less if something is summed
  std::function<void(Attributes &, int64_t part, int64_t parts)> attributes = {};
  std::vector<int> integerInputs = {}; ///< operands of ids below 16

  bool isSummed() const { return std::count(outputDims.begin(), outputDims.end(), summed) > 0; }
};

/// Part `part` of `parts` along `dim`; all of it where `dim` is none.
Tensor cut(const Tensor &from, Shape shape, int dim, int64_t part, int64_t parts) {
  if (dim < 0)
    return from;
  int64_t inner = 1;
  for (size_t i = dim + 1; i < shape.size(); ++i)
    inner *= shape[i];
  int64_t size = shape[dim] / parts, all = shape[dim];
  shape[dim] = size;
  Tensor to(from.dtype(), shape);
  for (int64_t i = 0; i < to.elements(); ++i) {
    int64_t outer = i / (size * inner), position = i / inner % size;
    to.set(i, from.get((outer * all + part * size + position) * inner + i % inner));
  }
  return to;
}

class CutTest : public testing::TestWithParam<CutCall> {
protected:
  Tensor draw(DType dtype, const Shape &shape, bool isInteger) {
    Tensor tensor(isInteger ? DType::I32 : dtype, shape);
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.set(i, isInteger ? double(random() % 16) : std::uniform_real_distribution<double>(-1, 1)(random));
    return tensor;
  }
  Case call(DType dtype, bool isChunked) {
    const CutCall &kase = GetParam();
    Case made{kase.kernel, kase.kernel, dtype, {}, {}, {}};
    for (size_t i = 0; i < kase.inputs.size(); ++i)
      made.inputs.push_back(
          draw(dtype, kase.inputs[i], std::count(kase.integerInputs.begin(), kase.integerInputs.end(), int(i))));
    for (const Shape &shape : kase.outputs)
      made.outputs.push_back(draw(dtype, shape, false));
    setAttributes(made, isChunked, 0, 1);
    return made;
  }
  void setAttributes(Case &made, bool isChunked, int64_t part, int64_t parts) {
    const CutCall &kase = GetParam();
    made.attributes = {};
    if (isChunked && kase.chunks > 0)
      made.attributes.set("chunks", kase.isSummed() ? kase.chunks / parts : kase.chunks);
    if (kase.attributes)
      kase.attributes(made.attributes, part, parts);
  }
  std::vector<Tensor> runPart(const Case &all, const Kernel &kernel, bool isChunked, int64_t part, int64_t parts,
                              std::optional<int64_t> node = {}) {
    const CutCall &kase = GetParam();
    Case made = all;
    for (size_t i = 0; i < kase.inputs.size(); ++i)
      made.inputs[i] = cut(all.inputs[i], kase.inputs[i], kase.inputDims[i], part, parts);
    for (size_t o = 0; o < kase.outputs.size(); ++o)
      made.outputs[o] = cut(all.outputs[o], kase.outputs[o], kase.outputDims[o], part, parts);
    setAttributes(made, isChunked, part, parts);
    if (node) {
      made.attributes.set("nodes", int64_t(1));
      made.attributes.set("node", *node);
      made.attributes.set("first_chunk", part * (kase.chunks / parts));
    }
    return made.run(kernel);
  }

  /// Elements of the whole outputs that the nodes of the parts do not give.
  int64_t countDifferentNodes(const Kernel &kernel, const Kernel &sumNodes, DType dtype, int64_t parts) {
    const CutCall &kase = GetParam();
    int64_t addends = kase.chunks / parts, nodes = mostSumNodes(addends, parts), different = 0;
    Case all = call(dtype, true);
    std::vector<Tensor> expected = all.run(kernel);
    std::vector<std::vector<Tensor>> got;
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t node = 0; node < nodes; ++node)
        got.push_back(runPart(all, kernel, true, part, parts, node));
    for (size_t o = 0; o < expected.size(); ++o) {
      int dim = kase.outputDims[o];
      for (int64_t part = 0; part < parts && dim != summed; ++part) // whole with every node
        for (int64_t node = 0; node < nodes; ++node)
          different +=
              cut(expected[o], kase.outputs[o], dim, part, parts).bytes() != got[part * nodes + node][o].bytes();
      if (dim != summed)
        continue;
      int64_t size = expected[o].elements();
      Tensor rows(expected[o].dtype(), {int64_t(got.size()), size}), sum(expected[o].dtype(), {size});
      for (size_t row = 0; row < got.size(); ++row)
        for (int64_t i = 0; i < size; ++i)
          rows.set(int64_t(row) * size + i, got[row][o].get(i));
      Case total{"sum_nodes", "sum_nodes", dtype, {rows}, {sum}, {}};
      total.attributes.set("addends", withoutPowersOfTwo(addends));
      total.attributes.set("nodes", nodes);
      Tensor added = total.run(sumNodes).front();
      for (int64_t i = 0; i < size; ++i)
        different += added.get(i) != expected[o].get(i);
    }
    return different;
  }

  /// Elements of the whole outputs that the parts do not give.
  int64_t countDifferent(const Kernel &kernel, DType dtype, bool isChunked, int64_t parts) {
    const CutCall &kase = GetParam();
    Case all = call(dtype, isChunked);
    std::vector<Tensor> expected = all.run(kernel);
    std::vector<std::vector<Tensor>> got;
    for (int64_t part = 0; part < parts; ++part)
      got.push_back(runPart(all, kernel, isChunked, part, parts));
    int64_t different = 0;
    for (size_t o = 0; o < expected.size(); ++o) {
      int dim = kase.outputDims[o];
      if (dim == summed) {
        for (int64_t i = 0; i < expected[o].elements(); ++i)
          different += expected[o].get(i) != addedUp(got, o, i, expected[o].dtype());
        continue;
      }
      for (int64_t part = 0; part < parts; ++part)
        different += cut(expected[o], kase.outputs[o], dim, part, parts).bytes() != got[part][o].bytes();
    }
    return different;
  }
  static double addedUp(const std::vector<std::vector<Tensor>> &parts, size_t output, int64_t i, DType dtype) {
    auto part = [&](int64_t p) { return parts[p][output].get(i); };
    if (dtype == DType::F64)
      return sumScalarsInTree<double>(int64_t(parts.size()), part);
    return sumScalarsInTree<float>(int64_t(parts.size()), [&](int64_t p) { return float(part(p)); });
  }

  std::mt19937 random{7};
};

std::ostream &operator<<(std::ostream &stream, const CutCall &kase) {
  return stream << kase.kernel;
}

} // namespace

TEST_P(CutTest, PartsHaveTheBitsOfTheWhole) {
  for (const CpuKernelBuild *build : buildsOf(GetParam().kernel))
    for (DType dtype : {DType::F32, DType::F64})
      for (int64_t parts : {2, 4})
        EXPECT_EQ(countDifferent(*findKernel(build->table, GetParam().kernel), dtype, true, parts), 0)
            << build->name << " " << name(dtype) << ", " << parts << " parts";
}

/// Calls whose order of additions is another one without chunks.
class UnorderedCutTest : public CutTest {};

TEST_P(UnorderedCutTest, PartsHaveOtherBits) {
  int64_t different = 0;
  for (int64_t parts : {2, 4})
    different += countDifferent(*findKernel(KernelBackend::Cpu, GetParam().kernel), DType::F32, false, parts);
  EXPECT_GT(different, 0);
}

static const auto normEpsilon = [](Attributes &a, int64_t, int64_t) { a.set("epsilon", 1e-5); };
static const auto heads8 = [](Attributes &a, int64_t, int64_t) {
  a.set("head_dim", int64_t(8));
  a.set("causal", int64_t(1));
  a.set("scale", 0.35);
};
/// 4 KV heads of two query heads, each of which is a chunk.
static const auto chunksOfKvHeads = [](Attributes &a, int64_t part, int64_t parts) {
  heads8(a, part, parts);
  a.set("chunks", 8 / parts);
};
static const auto vocabulary96 = [](Attributes &a, int64_t part, int64_t parts) {
  a.set("vocab_offset", part * (96 / parts));
  a.set("vocabulary", int64_t(96));
};
static const auto offsets40 = [](Attributes &a, int64_t part, int64_t parts) {
  a.set("head_dim", int64_t(10));
  a.set("theta", 10000.0);
  a.set("position_offset", part * (40 / parts));
};
static const auto dropoutWidth = [](Attributes &a, int64_t part, int64_t parts) {
  a.set("probability", 0.3);
  a.set("key", int64_t(12345));
  a.set("width_offset", part * (56 / parts));
};
static const auto adam = [](Attributes &a, int64_t, int64_t) {
  a.set("beta1", 0.9);
  a.set("beta2", 0.95);
  a.set("epsilon", 1e-8);
  a.set("weight_decay", 0.1);
};
static const auto squares = [](int64_t dim) {
  return [dim](Attributes &a, int64_t, int64_t) { a.set("chunk_dim", dim); };
};

// Sizes that are no multiples of vectors, so that what is in a vector's body in one call
// is in its tail in the other.
static const CutCall calls[] = {
    // sums over what is cut
    {"linear", {{3, 11, 360}, {37, 360}}, {2, 1}, {{3, 11, 37}}, {summed}, 8},
    {"linear_dgrad", {{3, 11, 360}, {360, 37}}, {2, 0}, {{3, 11, 37}}, {summed}, 8},
    {"linear_dgrad_sum", {{2, 9, 360}, {2, 9, 120}, {360, 37}, {120, 37}}, {2, 2, 0, 0}, {{2, 9, 37}}, {summed}, 8},
    {"linear_wgrad", {{8, 21, 37}, {8, 21, 29}}, {0, 0}, {{37, 29}}, {summed}, 8},
    {"sum_leading", {{8, 21, 37}}, {0}, {{21, 37}}, {summed}, 8},
    {"sum_positions", {{3, 40, 37}}, {1}, {{3, 37}}, {summed}, 8},
    {"embedding_grad", {{8, 21}, {8, 21, 37}}, {0, 0}, {{16, 37}}, {summed}, 8, {}, {0}},
    {"rms_norm_grad",
     {{3, 40, 37}, {3, 40, 37}, {37}, {3, 40}},
     {1, 1, whole, 1},
     {{3, 40, 37}, {3, 37}},
     {1, summed},
     8},
    {"layer_norm_grad",
     {{3, 40, 37}, {3, 40, 37}, {37}, {3, 40}, {3, 40}},
     {1, 1, whole, 1, 1},
     {{3, 40, 37}, {3, 37}, {3, 37}},
     {1, summed, summed},
     8},
    {"head_norm_grad",
     {{3, 10, 72}, {3, 10, 72}, {9}},
     {2, 2, whole},
     {{3, 10, 72}, {3, 9}},
     {2, summed},
     8,
     normEpsilon},
    {"softmax_sums",
     {{2, 7, 96}, {2, 7}, {2, 7}},
     {2, whole, whole},
     {{2, 7}, {2, 7}},
     {summed, summed},
     8,
     vocabulary96,
     {1}},
    {"row_mean", {{2, 7, 96}}, {2}, {{2, 7}}, {summed}, 8, vocabulary96},
    {"sum_squares", {{40, 37}}, {0}, {{}}, {summed}, 8, squares(0)},
    {"sum_squares", {{37, 40}}, {1}, {{}}, {summed}, 8, squares(1)},
    // no sum over what is cut: rows, features, heads, elements
    {"linear", {{4, 11, 360}, {37, 360}}, {0, whole}, {{4, 11, 37}}, {0}, 8},
    {"linear", {{3, 11, 360}, {44, 360}, {44}}, {whole, 0, 0}, {{3, 11, 44}}, {2}, 8},
    {"linear_dgrad", {{3, 12, 360}, {360, 37}}, {1, whole}, {{3, 12, 37}}, {1}, 8},
    {"linear_wgrad", {{4, 21, 44}, {4, 21, 29}}, {2, whole}, {{44, 29}}, {0}, 4},
    {"linear_wgrad", {{4, 21, 29}, {4, 21, 44}}, {whole, 2}, {{29, 44}}, {1}, 4},
    {"attention", {{2, 19, 64}, {2, 19, 32}, {2, 19, 32}}, {2, 2, 2}, {{2, 19, 64}, {2, 8, 19}}, {2, 1}, 1, heads8},
    {"attention", {{4, 19, 64}, {4, 19, 32}, {4, 19, 32}}, {0, 0, 0}, {{4, 19, 64}, {4, 8, 19}}, {0, 0}, 1, heads8},
    {"attention_grad",
     {{2, 19, 64}, {2, 19, 64}, {2, 19, 32}, {2, 19, 32}, {2, 19, 64}, {2, 8, 19}},
     {2, 2, 2, 2, 2, 1},
     {{2, 19, 64}, {2, 19, 32}, {2, 19, 32}},
     {2, 2, 2},
     0,
     chunksOfKvHeads},
    {"attention_grad",
     {{2, 69, 96}, {2, 69, 96}, {2, 69, 8}, {2, 69, 8}, {2, 69, 96}, {2, 12, 69}},
     {2, 2, whole, whole, 2, 1},
     {{2, 69, 96}, {2, 69, 8}, {2, 69, 8}},
     {2, summed, summed},
     4,
     heads8},
    {"rms_norm", {{3, 40, 37}, {37}}, {1, whole}, {{3, 40, 37}, {3, 40}}, {1, 1}, 0, normEpsilon},
    {"layer_norm",
     {{3, 40, 37}, {37}, {37}},
     {1, whole, whole},
     {{3, 40, 37}, {3, 40}, {3, 40}},
     {1, 1, 1},
     0,
     normEpsilon},
    {"head_norm", {{3, 10, 72}, {9}}, {2, whole}, {{3, 10, 72}}, {2}, 0, normEpsilon},
    {"rope", {{2, 40, 30}}, {1}, {{2, 40, 30}}, {1}, 0, offsets40},
    {"gelu", {{3, 10, 212}}, {2}, {{3, 10, 212}}, {2}, 0},
    {"gelu_grad", {{3, 10, 212}, {3, 10, 212}}, {2, 2}, {{3, 10, 212}}, {2}, 0},
    {"swiglu", {{3, 10, 212}, {3, 10, 212}}, {2, 2}, {{3, 10, 212}}, {2}, 0},
    {"swiglu_grad", {{3, 10, 212}, {3, 10, 212}, {3, 10, 212}}, {2, 2, 2}, {{3, 10, 212}, {3, 10, 212}}, {2, 2}, 0},
    {"add", {{3, 212}, {3, 212}}, {1, 1}, {{3, 212}}, {1}, 0},
    {"add", {{3, 212}, {212}}, {1, 0}, {{3, 212}}, {1}, 0},
    {"add_n", {{3, 212}, {3, 212}, {3, 212}}, {1, 1, 1}, {{3, 212}}, {1}, 0},
    {"dropout", {{3, 10, 56}, {3}, {}}, {2, whole, whole}, {{3, 10, 56}}, {2}, 0, dropoutWidth, {1, 2}},
    {"cross_entropy_grad",
     {{2, 7, 96}, {2, 7}, {2, 7}, {}},
     {2, whole, whole, whole},
     {{2, 7, 96}},
     {2},
     0,
     vocabulary96,
     {1}},
    {"adamw",
     {{7, 212}, {7, 212}, {7, 212}, {7, 212}, {}, {}, {}},
     {1, 1, 1, 1, whole, whole, whole},
     {{7, 212}, {7, 212}, {7, 212}},
     {1, 1, 1},
     0,
     adam},
};

INSTANTIATE_TEST_SUITE_P(Calls, CutTest, testing::ValuesIn(calls),
                         [](const auto &info) { return info.param.kernel + ("_" + std::to_string(info.index)); });

static std::vector<CutCall> unorderedCalls() {
  std::vector<CutCall> unordered;
  for (const CutCall &call : calls)
    if (call.isSummed() && call.outputs.size() == 1 && call.kernel != std::string("linear_dgrad_sum"))
      unordered.push_back(call);
  return unordered;
}

INSTANTIATE_TEST_SUITE_P(Calls, UnorderedCutTest, testing::ValuesIn(unorderedCalls()),
                         [](const auto &info) { return info.param.kernel + ("_" + std::to_string(info.index)); });

/// Chunks of which a half or a quarter is no power of two.
class NodesTest : public CutTest {};

TEST_P(NodesTest, NodesHaveTheBitsOfTheWhole) {
  for (const CpuKernelBuild &build : judgedBuilds())
    for (DType dtype : {DType::F32, DType::F64})
      for (int64_t parts : {2, 4})
        EXPECT_EQ(countDifferentNodes(*findKernel(build.table, GetParam().kernel),
                                      *findKernel(build.table, "sum_nodes"), dtype, parts),
                  0)
            << build.name << " " << name(dtype) << ", " << parts << " parts";
}

static std::vector<CutCall> nodeCalls() {
  std::vector<CutCall> nodes = {
      {"linear_wgrad", {{20, 3, 37}, {20, 3, 29}}, {0, 0}, {{37, 29}}, {summed}, 20},
      {"sum_leading", {{24, 5, 37}}, {0}, {{5, 37}}, {summed}, 24},
      {"embedding_grad", {{28, 5}, {28, 5, 37}}, {0, 0}, {{16, 37}}, {summed}, 28, {}, {0}},
      {"head_norm_grad",
       {{3, 10, 108}, {3, 10, 108}, {9}},
       {2, 2, whole},
       {{3, 10, 108}, {3, 9}},
       {2, summed},
       12,
       normEpsilon},
  };
  for (CutCall call : calls) {
    int64_t size = call.inputs[0][std::max(call.inputDims[0], 0)];
    if (!call.isSummed() || size % 20 * (size % 24) != 0 || call.kernel == std::string("head_norm_grad"))
      continue;
    call.chunks = call.kernel == std::string("attention_grad") ? 12 : size % 24 == 0 ? 24 : 20;
    nodes.push_back(call);
  }
  return nodes;
}

INSTANTIATE_TEST_SUITE_P(Calls, NodesTest, testing::ValuesIn(nodeCalls()),
                         [](const auto &info) { return info.param.kernel + ("_" + std::to_string(info.index)); });

// Ranks whose addends are no node keep a list, which together is the tree over all.
TEST(AccumulateNodes, AddsAsTheTreeDoes) {
  std::mt19937 random{5};
  for (const CpuKernelBuild &build : judgedBuilds())
    for (auto [ranks, microBatches, parts] :
         {std::tuple<int64_t, int64_t, int64_t>{2, 3, 1}, {3, 1, 5}, {5, 7, 1}, {2, 2, 3}, {3, 6, 1}, {1, 3, 3}}) {
      int64_t addends = microBatches * parts, nodes = mostSumNodes(addends, ranks), samples = 2 * parts;
      std::vector<float> values(ranks * addends);
      Tensor rows(DType::F32, {ranks * nodes, 1});
      for (int64_t rank = 0; rank < ranks; ++rank) {
        Case call{"accumulate_nodes",
                  "accumulate_nodes",
                  DType::F32,
                  {Tensor(DType::F32, {1}), Tensor(DType::I32, {samples})},
                  std::vector<Tensor>(mostSumNodesAtHand(addends, ranks), Tensor(DType::F32, {1})),
                  {}};
        for (Tensor &node : call.outputs)
          node.set(0, 1e30); // what an earlier step left
        for (int64_t i = 0; i < addends; ++i) {
          values[rank * addends + i] = std::uniform_real_distribution<float>(-1, 1)(random);
          call.attributes = {};
          call.attributes.set("micro_batches", microBatches);
          call.attributes.set("ranks", ranks);
          call.attributes.set("parts", parts);
          call.attributes.set("part", i % parts);
          call.attributes.set("accumulate", (int64_t(1) << call.outputs.size()) - 1);
          call.inputs[0].set(0, values[rank * addends + i]);
          for (int64_t s = 0; s < samples; ++s)
            call.inputs[1].set(s, double((rank * addends + i) / parts * samples + s));
          call.outputs = call.run(*findKernel(build.table, "accumulate_nodes"));
        }
        for (int64_t node = 0; node < nodes; ++node)
          rows.set(rank * nodes + node, call.outputs[node].get(0));
      }
      Case total{"sum_nodes", "sum_nodes", DType::F32, {rows}, {Tensor(DType::F32, {1})}, {}};
      total.attributes.set("addends", withoutPowersOfTwo(addends));
      total.attributes.set("nodes", nodes);
      EXPECT_EQ(float(total.run(*findKernel(build.table, "sum_nodes")).front().get(0)),
                sumScalarsInTree<float>(ranks * addends, [&](int64_t i) { return values[i]; }))
          << build.name << " " << ranks << " ranks of " << microBatches << " x " << parts;
    }
}

// The order of the additions, where a chunk is a token's loss or a micro-batch.
TEST(AccumulateTree, AddsAsTheTreeDoes) {
  std::mt19937 random{3};
  for (int64_t microBatches : {3, 4, 5, 6, 7, 8, 16}) {
    size_t levels = std::bit_width(uint64_t(microBatches - 1));
    std::vector<float> addends(microBatches);
    for (float &addend : addends)
      addend = std::uniform_real_distribution<float>(-1, 1)(random);
    Case call{
        "accumulate_tree", "accumulate_tree", DType::F32, {Tensor(DType::F32, {1}), Tensor(DType::I32, {})}, {}, {}};
    call.outputs.assign(levels, Tensor(DType::F32, {1}));
    for (Tensor &level : call.outputs)
      level.set(0, 1e30); // what an earlier step left
    call.attributes.set("micro_batches", microBatches);
    call.attributes.set("accumulate", (int64_t(1) << levels) - 1);
    for (int64_t i = 0; i < microBatches; ++i) {
      call.inputs[0].set(0, addends[i]);
      call.inputs[1].set(0, double(i));
      call.outputs = call.run(*findKernel(KernelBackend::Cpu, "accumulate_tree"));
    }
    EXPECT_EQ(float(call.outputs.back().get(0)),
              sumScalarsInTree<float>(microBatches, [&](int64_t i) { return addends[i]; }))
        << microBatches;
  }
}
