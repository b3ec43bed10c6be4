//===- LossGradientTest.cpp - the loss with its gradient --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every case of cross_entropy and token_loss that the suite has, with its gradient: against the
// references of the two kernels, within their bounds, and bit by bit against the two device
// kernels. With operands that are not aligned, and over the logits, the bits must be those too.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/TypeDispatch.h"
#include "test/unit/kernels/Coverage.h"
#include "test/unit/kernels/cuda/GroupedCall.h"

#include <cstring>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

static bool takesLogits(const Case &loss) {
  return loss.kernel == "cross_entropy";
}

/// Columns of the logits; a rank's part of them where the loss takes none.
static int64_t widthOf(const Case &loss) {
  return takesLogits(loss) ? loss.inputs[0].dim(-1) : loss.inputs[0].elements() % 2 ? 40 : 25;
}

static std::vector<const Case *> lossCases(int64_t mostElements = 40000) {
  std::vector<const Case *> cases;
  for (const Case &kase : allCases())
    if ((takesLogits(kase) || kase.kernel == "token_loss") && isJudged(kase) &&
        kase.outputs[2].elements() * widthOf(kase) <= mostElements)
      cases.push_back(&kase);
  return cases;
}

namespace {
/// The loss's operands, the logits if it takes none, and dloss; loss, count, lse and dlogits.
struct LossAndGradient {
  explicit LossAndGradient(const Case &loss)
      : loss(loss), logits(takesLogits(loss) ? 0 : 2), labels(takesLogits(loss) ? 1 : 0), attributes(loss.attributes) {
    inputs = loss.inputs;
    if (takesLogits(loss))
      attributes.set("vocabulary", attributes.integer("vocabulary", widthOf(loss)));
    else
      addPartOfLogits();
    inputs.push_back(drawn(accumulatorOf(loss.compute), {}, 3, 0.5, 2));
    outputs = loss.outputs;
    outputs.push_back(inputs[logits]); // to be overwritten
  }

  void runTogether(std::span<const TensorView> in, std::span<const TensorView> out) const {
    runKernel(loss.kernel, {in, out, &attributes});
  }
  void runApart(std::span<const TensorView> in, std::span<const TensorView> out) const {
    TensorView ofGradient[] = {in[logits], in[labels], out[2], in.back()};
    runKernel(loss.kernel, {in.first(2), out.first(3), &loss.attributes});
    runKernel("cross_entropy_grad", {ofGradient, out.subspan(3), &attributes});
  }
  std::vector<Tensor> run(bool isTogether) const {
    std::vector<Tensor> in = inputs, out = outputs;
    isTogether ? runTogether(viewsOf(in), viewsOf(out)) : runApart(viewsOf(in), viewsOf(out));
    for (size_t i = 0; i < in.size(); ++i)
      EXPECT_EQ(in[i].bytes(), inputs[i].bytes()) << loss.label << ": input " << i << " was changed";
    for (Tensor &tensor : out)
      EXPECT_TRUE(tensor.guardIntact()) << loss.label;
    return out;
  }

  const Case &loss;
  size_t logits, labels; ///< numbers of these inputs
  Attributes attributes;
  std::vector<Tensor> inputs, outputs;

private:
  /// Columns from the third on, the last two of which are padding.
  void addPartOfLogits() {
    int64_t width = widthOf(loss);
    inputs.push_back(drawn(loss.compute, {loss.inputs[0].dim(0), loss.inputs[0].dim(1), width}, 5, -8, 8));
    attributes.set("vocab_offset", int64_t(2));
    attributes.set("vocabulary", width);
  }
};
} // namespace

/// The loss by its reference, the gradient by its own, of the very lse.
static double worstOf(const LossAndGradient &both, const std::vector<Tensor> &got) {
  Case gradient{"cross_entropy_grad",
                both.loss.label + ", gradient",
                both.loss.compute,
                {both.inputs[both.logits], both.inputs[both.labels], got[2], both.inputs.back()},
                {got[3]},
                both.attributes};
  return std::max(worstAgainstReference(both.loss, {got.begin(), got.end() - 1}),
                  worstAgainstReference(gradient, {got[3]}));
}

TEST(LossGradients, AreWithinTheBoundsAndHaveTheBitsOfTwoCalls) {
  std::vector<const Case *> cases = lossCases();
  EXPECT_GT(cases.size(), 60u);
  for (const Case *kase : cases) {
    LossAndGradient both(*kase);
    uint64_t before = launchCount();
    std::vector<Tensor> got = both.run(true);
    uint64_t together = launchCount() - before;
    expectSameBits(got, both.run(false), kase->label);
    if (launchCount() > 0) {
      EXPECT_EQ(together, 2u) << kase->label;
      EXPECT_EQ(launchCount() - before - together, 3u) << kase->label;
    }
    double worst = worstOf(both, got);
    EXPECT_LE(worst, 1.0) << kase->label;
    cover(kase->kernel + ", cross_entropy_grad", *kase, worst);
  }
}

/// One element behind a multiple of 16 bytes, where no vector may be read, or none be written.
TEST(LossGradients, NeedNoAlignment) {
  for (const Case *kase : lossCases(2000)) {
    LossAndGradient both(*kase);
    for (auto [isLogitsShifted, isGradientShifted] : {std::pair(true, true), {true, false}, {false, true}}) {
      auto bytesOf = [&](bool isTogether) {
        std::vector<std::vector<char>> bytes;
        std::vector<std::vector<TensorView>> views;
        for (const std::vector<Tensor> *tensors : {&both.inputs, &both.outputs}) {
          bool isShifted = tensors == &both.inputs ? isLogitsShifted : isGradientShifted;
          std::vector<Tensor> own = *tensors;
          views.push_back(viewsOf(own));
          for (TensorView &view : views.back()) {
            bytes.emplace_back(view.bytes() + 32);
            char *at = bytes.back().data() + (isShifted ? sizeInBytes(view.dtype) : 0); // malloc aligns it to 16
            std::memcpy(at, view.data, view.bytes());
            view.data = at;
          }
        }
        isTogether ? both.runTogether(views[0], views[1]) : both.runApart(views[0], views[1]);
        return bytes;
      };
      EXPECT_EQ(bytesOf(true), bytesOf(false)) << kase->label;
    }
  }
}

TEST(LossGradients, MayLieOnTheLogits) {
  for (const Case *kase : lossCases(10000)) {
    LossAndGradient both(*kase);
    std::vector<Tensor> in = both.inputs, out = both.outputs;
    std::vector<TensorView> inViews = viewsOf(in), outViews = viewsOf(out);
    outViews[3].data = inViews[both.logits].data;
    both.runTogether(inViews, outViews);
    std::memcpy(out[3].view().data, outViews[3].data, outViews[3].bytes());
    expectSameBits(out, both.run(false), kase->label);
  }
}
