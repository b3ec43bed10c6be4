//===- CallGroupTest.cpp - which calls of a plan are one --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is found in a segment, and what memory and the calls between forbid; then random
// programs run both ways, bit by bit.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/fusion/CallGroup.h"
#include "test/unit/kernels/cuda/ArenaProgram.h"
#include "test/unit/kernels/cuda/GroupedCall.h"

#include <algorithm>
#include <cmath>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {
class Segment : public ArenaProgram {
public:
  TensorView statistics(int64_t at) { return view(at, {rows}); }
  TensorView scalar(int64_t at) { return view(at, {}); }

  Segment &add(std::string_view kernel, std::vector<TensorView> inputs, std::vector<TensorView> outputs,
               Attributes own = {}, bool isTakenOnce = true) {
    addCall(kernel, std::move(inputs), std::move(outputs), std::move(own), isTakenOnce);
    return *this;
  }
  Segment &norm(int64_t z, int64_t n) {
    Attributes own;
    own.set("epsilon", 1e-5);
    return add("rms_norm", {view(z), vector(20)}, {view(n), statistics(21)}, own);
  }
  Segment &gradient(int64_t dy, int64_t x, int64_t dx, bool isTakenOnce = true) {
    Attributes own;
    own.set("accumulate", int64_t(2));
    return add("rms_norm_grad", {view(dy), view(x), vector(20), statistics(21)}, {view(dx), vector(22)}, own,
               isTakenOnce);
  }
  /// The loss of logits at `x`, and its gradient at `dx`; labels, dloss and what the loss makes lie from 40 on.
  Segment &loss(int64_t x, Attributes own = {}) {
    return add("cross_entropy", {view(x), view(40, {rows}, DType::I32)}, {scalar(41), scalar(42), statistics(43)}, own);
  }
  Segment &lossGradient(int64_t x, int64_t dx, Attributes own = {}, int64_t lse = 43) {
    return add("cross_entropy_grad", {view(x), view(40, {rows}, DType::I32), statistics(lse), scalar(44)}, {view(dx)},
               own);
  }
  /// The loss of what the ranks gathered of parts of the vocabulary.
  Segment &mergedLoss(Attributes own = {}) {
    return add("token_loss", {view(40, {rows}, DType::I32), view(47, {2, 2, rows})},
               {scalar(41), scalar(42), statistics(43)}, own);
  }
  Segment &sum(int64_t x, int64_t y, int64_t z) { return add("add", {view(x), view(y)}, {view(z)}); }
  Segment &adamw(int64_t param, double decay) {
    Attributes own;
    for (auto [name, value] : {std::pair("beta1", 0.9), {"beta2", 0.95}, {"epsilon", 1e-8}, {"weight_decay", decay}})
      own.set(name, value);
    return add("adamw",
               {view(param), view(param + 1), view(param + 2), view(param + 3), scalar(50), scalar(51), scalar(52)},
               {view(param), view(param + 2), view(param + 3)}, own);
  }
  Segment &cast(int64_t from, int64_t to) { return add("cast", {view(from)}, {view(to, {rows, width}, DType::BF16)}); }

  std::vector<cuda::CallGroup> groups() {
    std::vector<bool> isTaken(calls.size());
    std::vector<cuda::CallGroup> found = findResidualNorms(calls, cuda::emulated::kernelTable(), isTaken);
    for (auto find : {cuda::findLossGradients, cuda::findTensorGroups})
      for (cuda::CallGroup &group : find(calls, cuda::emulated::kernelTable(), isTaken))
        found.push_back(std::move(group));
    return found;
  }
  /// "add, rms_norm: 0 1; adamw: 2 4"
  std::string text() {
    std::string text;
    for (const cuda::CallGroup &group : groups()) {
      text += (text.empty() ? "" : "; ") + group.name + ":";
      for (size_t call : group.calls)
        text += " " + std::to_string(call);
    }
    return text;
  }
};
} // namespace

TEST(ResidualNormGroups, TheSumsOfABlock) {
  Segment forward, backward;
  forward.sum(0, 1, 0).norm(0, 2).add("gelu", {forward.view(2)}, {forward.view(3)}).sum(0, 3, 4).norm(4, 3);
  EXPECT_EQ(forward.text(), "add, rms_norm: 0 1; add, rms_norm: 3 4") << "in place, and on what the sum read";
  backward.gradient(0, 1, 2).sum(3, 2, 3).gradient(4, 1, 2).sum(2, 3, 2);
  EXPECT_EQ(backward.text(), "rms_norm_grad, add: 0 1; rms_norm_grad, add: 2 3");
  std::vector<cuda::CallGroup> found = backward.groups();
  EXPECT_EQ(found[0].outputs[0].data, backward.view(3).data);
  EXPECT_EQ(found[0].inputs.back().data, backward.view(3).data);
  EXPECT_TRUE(found[0].call().accumulates(1));
}

TEST(ResidualNormGroups, NotWhereOthersTakeTheGradientOrMemoryForbidsIt) {
  auto text = [](auto write) {
    Segment segment;
    write(segment);
    return segment.text();
  };
  EXPECT_EQ(text([](Segment &s) { s.gradient(0, 1, 2, false).sum(3, 2, 3); }), "") << "somebody else takes dx";
  EXPECT_EQ(text([](Segment &s) { s.sum(0, 1, 4).sum(4, 1, 5).norm(4, 6); }), "add, rms_norm: 0 2");
  EXPECT_EQ(text([](Segment &s) { s.sum(0, 1, 4).add("copy", {s.view(0)}, {s.view(6)}).norm(4, 6); }), "")
      << "the norm may not be written before";
  EXPECT_EQ(text([](Segment &s) { s.sum(0, 1, 4).add("", {s.view(4)}, {}).norm(4, 6); }), "") << "a wait on the sum";
  EXPECT_EQ(text([](Segment &s) {
              TensorView across = s.view(0);
              across.data = s.arena.data() + Segment::width;
              s.sum(0, 1, 4).add("rms_norm", {s.view(4), s.vector(20)}, {across, s.statistics(21)});
            }),
            "")
      << "the norm lies a row behind what the sum reads";
  EXPECT_EQ(text([](Segment &s) {
              s.sum(0, 1, 4).add("rms_norm", {s.view(4), s.vector(20)}, {s.view(6), s.statistics(1)});
            }),
            "")
      << "the statistics lie on what the sum reads";
  EXPECT_EQ(text([](Segment &s) { // y is one row
              s.add("add", {s.view(0), s.vector(1)}, {s.view(4)}).norm(4, 6);
            }),
            "add, rms_norm: 0 1");
  EXPECT_EQ(text([](Segment &s) { // y is a number for each row of another cut
              s.add("add", {s.view(0), s.view(1, {2})}, {s.view(4)}).norm(4, 6);
            }),
            "");
}

TEST(LossGradientGroups, TheEndOfAForward) {
  Segment segment;
  segment.loss(0).lossGradient(0, 0).loss(1).add("accumulate", {segment.scalar(45)}, {segment.scalar(46)});
  segment.lossGradient(1, 2);
  EXPECT_EQ(segment.text(), "cross_entropy, cross_entropy_grad: 0 1; cross_entropy, cross_entropy_grad: 2 4")
      << "in place, and apart";
  std::vector<cuda::CallGroup> found = segment.groups();
  EXPECT_EQ(found[0].inputs.size(), 3u);
  EXPECT_EQ(found[0].inputs[2].data, segment.scalar(44).data);
  EXPECT_EQ(found[0].outputs[3].data, segment.view(0).data);
  EXPECT_EQ(found[0].workspaceBytes, size_t(256)) << "as the loss alone: a number in f64 a token";
}

TEST(LossGradientGroups, WhereRanksShareTheVocabulary) {
  Segment segment;
  Attributes chunked, sharded;
  chunked.set("chunks", int64_t(6)), chunked.set("parts", int64_t(3)), chunked.set("part", int64_t(1));
  sharded.set("vocab_offset", int64_t(8)), sharded.set("vocabulary", int64_t(15));
  segment.mergedLoss(chunked).add("accumulate", {segment.scalar(45)}, {segment.scalar(46)});
  segment.lossGradient(0, 0, sharded).mergedLoss().lossGradient(1, 2);
  EXPECT_EQ(segment.text(), "token_loss, cross_entropy_grad: 0 2; token_loss, cross_entropy_grad: 3 4")
      << "in place, and apart";
  std::vector<cuda::CallGroup> found = segment.groups();
  EXPECT_EQ(found[0].inputs.size(), 4u);
  EXPECT_EQ(found[0].inputs[2].data, segment.view(0).data);
  EXPECT_EQ(found[0].inputs[3].data, segment.scalar(44).data);
  EXPECT_EQ(found[0].outputs[3].data, segment.view(0).data);
  for (auto [name, value] :
       {std::pair("vocab_offset", 8), {"vocabulary", 15}, {"chunks", 6}, {"parts", 3}, {"part", 1}})
    EXPECT_EQ(found[0].attributes.integer(name), value) << name;
  EXPECT_EQ(found[0].workspaceBytes, size_t(256)) << "as the loss alone: a number in f64 a token";
}

TEST(LossGradientGroups, NotWhereTheyAreOfOthersOrMemoryForbidsIt) {
  auto text = [](auto write) {
    Segment segment;
    write(segment);
    return segment.text();
  };
  auto with = [](std::string name, auto value) {
    Attributes attributes;
    attributes.set(std::move(name), value);
    return attributes;
  };
  EXPECT_EQ(text([](Segment &s) { s.loss(0).lossGradient(1, 2); }), "") << "of other logits";
  EXPECT_EQ(text([](Segment &s) { s.loss(0).lossGradient(0, 0, {}, 47); }), "") << "of another lse";
  EXPECT_EQ(text([&](Segment &s) { s.loss(0).lossGradient(0, 0, with("z_loss", 1e-4)); }), "") << "of another loss";
  EXPECT_EQ(text([&](Segment &s) { s.loss(0, with("vocabulary", int64_t(7))).lossGradient(0, 0); }), "");
  EXPECT_EQ(text([&](Segment &s) { s.loss(0).lossGradient(0, 0, with("vocab_offset", int64_t(8))); }), "");
  EXPECT_EQ(text([&](Segment &s) { s.loss(0).lossGradient(0, 0, with("vocabulary", int64_t(8))); }),
            "cross_entropy, cross_entropy_grad: 0 1")
      << "all columns, said or not";
  EXPECT_EQ(text([](Segment &s) { s.loss(0).add("copy", {s.view(0)}, {s.view(3)}).lossGradient(0, 0); }), "")
      << "the logits are read between";
  EXPECT_EQ(text([](Segment &s) { s.loss(0).add("fill", {}, {s.scalar(44)}).lossGradient(0, 0); }), "")
      << "dloss is made between";
  EXPECT_EQ(text([](Segment &s) { s.loss(0).lossGradient(0, 40); }), "") << "the gradient lies on the labels";
  EXPECT_EQ(text([](Segment &s) { s.mergedLoss().lossGradient(0, 0, {}, 46); }), "") << "of another lse";
  EXPECT_EQ(text([&](Segment &s) { s.mergedLoss().lossGradient(0, 0, with("z_loss", 1e-4)); }), "")
      << "of another loss";
  EXPECT_EQ(text([](Segment &s) { s.mergedLoss().lossGradient(0, 47); }), "") << "the gradient lies on the statistics";
  EXPECT_EQ(text([](Segment &s) { s.mergedLoss().add("copy", {s.view(3)}, {s.view(0)}).lossGradient(0, 0); }), "")
      << "the logits are made between";
}

TEST(TensorGroups, TheUpdateOfAPlan) {
  Segment s;
  for (int64_t i = 0; i < 4; ++i)
    s.add("sum_squares", {s.view(4 * i + 1)}, {s.scalar(40 + i)});
  for (int64_t i = 0; i < 4; ++i)
    s.adamw(4 * i, i % 2 ? 0.1 : 0).cast(4 * i, 30 + i);
  EXPECT_EQ(s.text(), "sum_squares: 0 1 2 3; adamw, cast: 4 5 8 9; adamw, cast: 6 7 10 11");
  Segment fills;
  Attributes one;
  one.set("value", 1.0);
  fills.add("fill", {}, {fills.view(0)}).add("fill", {}, {fills.view(1)}, one).add("fill", {}, {fills.view(2)});
  EXPECT_EQ(fills.text(), "fill: 0 2");
}

TEST(TensorGroups, NotWhereOrderMatters) {
  auto text = [](auto write) {
    Segment segment;
    write(segment);
    return segment.text();
  };
  EXPECT_EQ(text([](Segment &s) { s.adamw(0, 0).add("", {s.view(5)}, {}).adamw(4, 0).adamw(8, 0); }), "adamw: 2 3")
      << "a wait, or a collective that would begin later";
  EXPECT_EQ(text([](Segment &s) { s.adamw(0, 0).adamw(0, 0); }), "") << "the same parameter twice";
  EXPECT_EQ(text([](Segment &s) { s.adamw(0, 0).cast(0, 30).adamw(4, 0).cast(4, 8).adamw(8, 0); }),
            "adamw, cast: 0 1 2 3")
      << "one without a cast is left";
  EXPECT_EQ(text([](Segment &s) { s.adamw(0, 0).cast(0, 4).adamw(4, 0).cast(4, 30); }),
            "adamw, cast: 0 1; adamw, cast: 2 3")
      << "the second parameter is made of the first";
  EXPECT_EQ(text([](Segment &s) {
              Attributes chunked;
              chunked.set("chunks", int64_t(4));
              for (int64_t i = 0; i < 3; ++i)
                s.add("sum_squares", {s.view(i)}, {s.scalar(40 + i)}, chunked);
            }),
            "")
      << "an order is asked for";
  EXPECT_EQ(text([](Segment &s) { // the loss scale of the second is another number
              s.adamw(0, 0).adamw(4, 0);
              s.calls[1].call.inputs = s.operands.emplace_back(std::vector<TensorView>{
                  s.view(4), s.view(5), s.view(6), s.view(7), s.scalar(53), s.scalar(51), s.scalar(52)});
            }),
            "");
}

/// Random places of a small arena: the groups, run where their first call stands, give the bits of all calls in order.
TEST(CallGroups, MoveNoCallPastOneThatMatters) {
  std::mt19937 random(11);
  size_t found = 0;
  for (int round = 0; round < 150; ++round) {
    Segment s;
    for (float &x : s.arena)
      x = float(random() % 17 + 1) / 16;
    auto at = [&] { return int64_t(random() % 10); };
    for (int i = 0; i < 12; ++i) {
      int64_t a = at(), b = at(), c = at();
      switch (random() % 7) {
      case 0: s.sum(a, b, a).norm(a, c); break;
      case 1: s.sum(a, b, c).norm(c, at()); break;
      case 2: s.gradient(a, b, c).sum(at(), c, at()); break;
      case 3: s.add("copy", {s.view(a)}, {s.view(b)}); break;
      case 4: s.adamw(a, 0).cast(a, b); break;
      case 5: s.adamw(a, 0.5); break;
      case 6: s.add("sum_squares", {s.view(a)}, {s.scalar(40 + b)}).add("fill", {}, {s.view(c)}); break;
      }
    }
    // What a plan would refuse, a result over an operand or another result, is left out; and dx is taken once only
    // where the sum behind it is the last that reads it.
    std::erase_if(s.calls, [](const cuda::PlannedCall &call) {
      for (size_t o = 0; o < call.call.outputs.size(); ++o) {
        const TensorView &out = call.call.outputs[o];
        for (size_t i = 0; i < call.call.inputs.size(); ++i) {
          const TensorView &in = call.call.inputs[i];
          bool mayShare = (call.kernel == "add" && i == 0) || call.kernel == "adamw";
          if (cuda::overlap(out, in) && !(mayShare && cuda::isSame(out, in)))
            return true;
        }
        if (cuda::overlapAny(out, call.call.outputs.first(o)))
          return true;
      }
      return false;
    });
    for (size_t i = 0; i < s.calls.size(); ++i)
      if (s.calls[i].kernel == "rms_norm_grad") {
        const TensorView &dx = s.calls[i].call.outputs[0];
        size_t takers = 0;
        for (size_t j = i + 1; j < s.calls.size(); ++j) {
          takers += cuda::overlapAny(dx, s.calls[j].call.inputs);
          if (std::any_of(s.calls[j].call.outputs.begin(), s.calls[j].call.outputs.end(),
                          [&](const TensorView &out) { return cuda::isSame(out, dx); }))
            break;
          takers += j + 1 == s.calls.size() ? 2 : 0; // what the arena holds in the end is compared
        }
        s.calls[i].isTakenOnce.assign(2, takers == 1);
      }
    std::vector<cuda::CallGroup> groups = s.groups();
    found += groups.size();
    const std::vector<float> before = s.arena;
    for (const cuda::PlannedCall &call : s.calls)
      runKernel(call.kernel, call.call);
    std::vector<float> inOrder = s.arena;
    std::copy(before.begin(), before.end(), s.arena.begin());
    for (size_t i = 0; i < s.calls.size(); ++i) {
      auto group = std::find_if(groups.begin(), groups.end(), [&](const cuda::CallGroup &group) {
        return std::find(group.calls.begin(), group.calls.end(), i) != group.calls.end();
      });
      if (group == groups.end())
        runKernel(s.calls[i].kernel, s.calls[i].call);
      else if (group->calls.front() == i)
        runKernel(s.calls[i].kernel == "add" ? "rms_norm" : s.calls[i].kernel, group->call());
    }
    for (size_t i = 0; i < inOrder.size(); ++i)
      ASSERT_TRUE(inOrder[i] == s.arena[i] || (std::isnan(inOrder[i]) && std::isnan(s.arena[i])))
          << "round " << round << ", place " << i / (Segment::rows * Segment::width);
  }
  EXPECT_GT(found, 100u);
}
