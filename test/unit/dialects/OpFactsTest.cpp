//===- OpFactsTest.cpp - sharding rules and kernel facts of every op ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpProgram.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <map>
#include <set>

using namespace mlir;
using namespace tgpt;
using namespace tgpt::test;

namespace {

int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

TEST(ShardingRuleOfOps, HasALetterForEachDim) {
  OpProgram program;
  for (ShardingRuleOpInterface op : program.all<ShardingRuleOpInterface>()) {
    SCOPED_TRACE(op->getName().getStringRef().str());
    ShardingRule rule = op.getShardingRule();
    ASSERT_EQ(rule.operands.size(), op->getNumOperands());
    ASSERT_EQ(rule.results.size(), op->getNumResults());
    for (auto [operand, group] : llvm::zip(op->getOperands(), rule.operands))
      EXPECT_EQ(rankOf(operand), int64_t(group.size()));
    for (auto [result, group] : llvm::zip(op->getResults(), rule.results))
      EXPECT_EQ(rankOf(result), int64_t(group.size()));
    for (char factor : rule.blocked)
      EXPECT_NE(rule.factors().find(factor), std::string::npos);
    for (const ShardingRule::Granularity &granularity : rule.granularities)
      EXPECT_NE(rule.factors().find(granularity.factor), std::string::npos);
    for (const ShardingRule::Size &size : rule.sizes)
      EXPECT_NE(rule.factors().find(size.factor), std::string::npos);
    for (unsigned operand : rule.linearOperands)
      EXPECT_LT(operand, op->getNumOperands());
  }
}

// Dims of one factor have one size, but where elements are counted in heads. What is left of a product is
// the size of its last factor.
TEST(ShardingRuleOfOps, JoinsDimsOfOneSize) {
  OpProgram program;
  for (ShardingRuleOpInterface op : program.all<ShardingRuleOpInterface>()) {
    SCOPED_TRACE(op->getName().getStringRef().str());
    ShardingRule rule = op.getShardingRule();
    std::map<char, int64_t> sizes;
    auto check = [&](Value value, const ShardingRule::Dims &group) {
      for (auto [dim, factors] : llvm::enumerate(group)) {
        int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(dim);
        for (char outer : StringRef(factors).drop_back()) {
          ASSERT_NE(rule.sizeOf(outer), nullptr) << "factor " << outer;
          EXPECT_EQ(size % rule.sizeOf(outer)->entries, 0);
          size /= rule.sizeOf(outer)->entries;
        }
        char factor = factors.back();
        if (rule.unitElements(factor) == 1)
          EXPECT_EQ(sizes.try_emplace(factor, size).first->second, size) << "factor " << factor;
        else
          EXPECT_EQ(size % rule.unitElements(factor, group), 0);
      }
    };
    for (auto [operand, group] : llvm::zip(op->getOperands(), rule.operands))
      check(operand, group);
    for (auto [result, group] : llvm::zip(op->getResults(), rule.results))
      check(result, group);
  }
}

struct Rule {
  const char *mnemonic, *label, *text, *blocked;
  bool joint;
};

class RuleTest : public testing::TestWithParam<Rule> {};

TEST_P(RuleTest, IsTheDocumentedOne) {
  OpProgram program;
  auto op = cast<ShardingRuleOpInterface>(program.find(GetParam().mnemonic, GetParam().label));
  ShardingRule rule = op.getShardingRule();
  EXPECT_EQ(rule.text(), GetParam().text);
  EXPECT_EQ(rule.blocked, GetParam().blocked);
  EXPECT_EQ(rule.linearity == ShardingRule::Linearity::Joint, GetParam().joint);
}

INSTANTIATE_TEST_SUITE_P(
    Ops, RuleTest,
    testing::Values(
        Rule{"embedding", "", "ab,VD->abD", "", false}, Rule{"embedding_grad", "", "ab,abD->VD", "", false},
        Rule{"linear", "", "abK,NK->abN", "", false}, Rule{"linear", "bias", "abK,NK,N->abN", "K", false},
        Rule{"linear_dgrad", "", "abN,NK->abK", "", false}, Rule{"linear_wgrad", "", "abN,abK->NK", "", false},
        Rule{"linear_dgrad_sum", "", "abN,abN,NK,NK->abK", "", false}, Rule{"sum_positions", "", "abT->aT", "", false},
        Rule{"sum_leading", "", "abc->c", "", true}, Rule{"rms_norm", "", "abD,D->abD,ab", "D", false},
        Rule{"layer_norm_grad", "", "abD,abD,D,ab,ab->abD,D,D", "D", false}, Rule{"rope", "", "abH->abH", "b", false},
        Rule{"attention", "dropout", "ab(HGD),ab(HD),ab(HD),a,->ab(HGD),a(HG)b", "bD", false},
        Rule{"attention", "", "ab(HGD),ab(HD),ab(HD)->ab(HGD),a(HG)b", "bD", false},
        Rule{"gelu", "", "abc->abc", "", false}, Rule{"dropout", "", "abD,a,->abD", "", false},
        Rule{"head_norm", "", "abH,D->abH", "D", false}, Rule{"head_norm_grad", "", "abH,abH,D->abH,D", "D", false},
        Rule{"loss_statistics", "", "abV,ab->Vkab", "k", false},
        Rule{"token_loss", "smoothed", "ab,ckab->,,ab", "ck", false}, Rule{"add", "broadcast", "abc,bc->abc", "", true},
        Rule{"add_n", "", "abc,abc,abc->abc", "", true}, Rule{"cast", "", "abc->abc", "", false},
        Rule{"cross_entropy", "", "abV,ab->,,ab", "V", false},
        Rule{"cross_entropy_grad", "", "abV,ab,ab,->abV", "", false}, Rule{"sum_squares", "", "abc->", "", false},
        Rule{"clip_scale", "", ",->,", "", false}, Rule{"clip_scale", "scaled", ",,->,", "", false},
        Rule{"adjust_loss_scale", "", ",,,,->,,,", "", false},
        Rule{"adamw", "", "abc,abc,abc,abc,,,->abc,abc,abc", "", false}, Rule{"fill", "", "->abc", "", false}),
    [](const auto &info) { return std::string(info.param.mnemonic) + "_" + info.param.label; });

TEST(ShardingRuleOfOps, LetsOnlyAZeroStandForAPartialValue) {
  OpProgram program;
  auto fill = cast<FillOp>(program.find("fill"));
  EXPECT_TRUE(fill.getShardingRule().mayBePartial);
  fill.setValue(APFloat(1.0));
  EXPECT_FALSE(fill.getShardingRule().mayBePartial);
}

TEST(ShardingRule, SaysWhatAResultReduces) {
  ShardingRule rule = ShardingRule::parse("abV,ab->,,ab");
  EXPECT_TRUE(rule.isReducedIn('a', rule.results[0]));
  EXPECT_FALSE(rule.isReducedIn('a', rule.results[2]));
  EXPECT_TRUE(rule.isReducedIn('V', rule.results[2]));
  EXPECT_FALSE(rule.isReduction('a'));
  EXPECT_TRUE(rule.isReduction('V'));
  // A factor of the result only is no reduction anywhere.
  EXPECT_FALSE(ShardingRule::parse("ab,abD->VD").isReducedIn('V', {}));
}

TEST(ShardingRule, CountsWholeHeads) {
  ShardingRule rule = ShardingRule::parse("abH->abH,aHb").granular('H', 16, "head");
  EXPECT_EQ(rule.unitElements('H', rule.results[0]), 16);
  EXPECT_EQ(rule.unitElements('H', rule.results[1]), 1);
  EXPECT_EQ(rule.unitElements('a', rule.results[0]), 1);
}

TEST(ShardingRule, ReadsProductsOfFactors) {
  ShardingRule rule = ShardingRule::parse("ab(HGD), ab(HD)->ab(HGD),a(HG)b,");
  EXPECT_EQ(rule.operands[0], (ShardingRule::Dims{"a", "b", "HGD"}));
  EXPECT_EQ(rule.operands[1], (ShardingRule::Dims{"a", "b", "HD"}));
  EXPECT_EQ(rule.results[1], (ShardingRule::Dims{"a", "HG", "b"}));
  EXPECT_TRUE(rule.results[2].empty());
  EXPECT_EQ(rule.factors(), "abHGD");
  EXPECT_EQ(rule.text(), "ab(HGD),ab(HD)->ab(HGD),a(HG)b,");
  EXPECT_TRUE(rule.isReducedIn('G', rule.operands[1]));
  EXPECT_FALSE(rule.isReducedIn('G', rule.results[1]));
  EXPECT_TRUE(rule.isReducedIn('D', rule.results[1]));
}

TEST(ShardingRule, KnowsInWhichOperandsAnOpIsLinear) {
  ShardingRule product = ShardingRule::parse("aN,NK->aK").linearIn({0, 1}),
               norm = ShardingRule::parse("aD,aD->aD").linearIn({0});
  EXPECT_TRUE(product.isLinearIn(0) && product.isLinearIn(1));
  EXPECT_TRUE(norm.isLinearIn(0));
  EXPECT_FALSE(norm.isLinearIn(1));
  EXPECT_TRUE(ShardingRule::parse("a,a->a").joint().isLinearIn(1));
  EXPECT_FALSE(ShardingRule::parse("a,a->a").isLinearIn(0));
}

TEST(ShardingRuleOfOps, CountsKvHeadsAndTheirQueryHeads) {
  OpProgram program;
  auto attention = cast<AttentionOp>(program.find("attention"));
  ShardingRule rule = cast<ShardingRuleOpInterface>(attention.getOperation()).getShardingRule();
  int64_t keyWidth = attention.getKey().getType().getDimSize(2),
          queryWidth = attention.getQuery().getType().getDimSize(2);
  EXPECT_LT(keyWidth, queryWidth);
  EXPECT_EQ(rule.sizeOf('H')->entries * 4, keyWidth);
  EXPECT_EQ(rule.sizeOf('H')->unitName, "KV head");
  EXPECT_EQ(rule.sizeOf('G')->entries * keyWidth, queryWidth);
  EXPECT_EQ(rule.sizeOf('D'), nullptr);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

TEST(KernelFacts, AnInPlaceOperandHasTheResultsType) {
  OpProgram program;
  int inPlace = 0;
  for (KernelOpInterface op : program.all<KernelOpInterface>())
    for (OpResult result : op->getResults())
      if (std::optional<unsigned> operand = op.getInPlaceOperand(result.getResultNumber())) {
        ASSERT_LT(*operand, op->getNumOperands());
        EXPECT_EQ(op->getOperand(*operand).getType(), result.getType());
        ++inPlace;
      }
  // gelu_grad, swiglu_grad, two adds, add_n, cross_entropy_grad, adamw, dropout, adjust_loss_scale
  EXPECT_EQ(inPlace, 1 + 2 + 2 + 1 + 1 + 3 + 1 + 3);
}

TEST(KernelFacts, ParameterGradientsAccumulate) {
  OpProgram program;
  std::set<std::pair<std::string, unsigned>> accumulating;
  for (KernelOpInterface op : program.all<KernelOpInterface>())
    for (OpResult result : op->getResults())
      if (op.canAccumulate(result.getResultNumber()))
        accumulating.emplace(op.getKernelName().str(), result.getResultNumber());
  std::set<std::pair<std::string, unsigned>> expected = {
      {"embedding_grad", 0},  {"linear_wgrad", 0},    {"sum_leading", 0},   {"rms_norm_grad", 1},
      {"layer_norm_grad", 1}, {"layer_norm_grad", 2}, {"head_norm_grad", 1}};
  EXPECT_EQ(accumulating, expected);
}

TEST(KernelFacts, VocabularyOffsetsFollowTheVocabulary) {
  OpProgram program;
  std::set<std::string> names;
  for (KernelOpInterface op : program.all<KernelOpInterface>())
    for (const ShardOffset &offset : op.getShardOffsets()) {
      if (offset.attribute != "vocab_offset")
        continue;
      Value tensor = offset.isResult ? Value(op->getResult(offset.operand)) : op->getOperand(offset.operand);
      EXPECT_EQ(cast<RankedTensorType>(tensor.getType()).getDimSize(offset.dim), OpProgram::vocabulary);
      names.insert(op.getKernelName().str());
    }
  std::set<std::string> expected = {"embedding", "embedding_grad", "cross_entropy_grad", "loss_statistics"};
  EXPECT_EQ(names, expected);
}

TEST(KernelFacts, DropoutCountsPositionsAndColumnsInTheWholeTensor) {
  OpProgram program;
  SmallVector<ShardOffset> offsets = cast<KernelOpInterface>(program.find("dropout")).getShardOffsets();
  ASSERT_EQ(offsets.size(), 2u);
  EXPECT_EQ(offsets[0].attribute, "position_offset");
  EXPECT_EQ(offsets[0].dim, 1u);
  EXPECT_EQ(offsets[1].attribute, "width_offset");
  EXPECT_EQ(offsets[1].dim, 2u);
}

// Seed and stream are one number to the kernel, and each of them changes it.
// Heads are numbered in the whole tensor; without dropout the kernel is told nothing of them.
TEST(KernelFacts, AttentionDropoutCountsHeadsInTheWholeTensor) {
  OpProgram program;
  for (auto [mnemonic, query] : {std::pair("attention", 0u), std::pair("attention_grad", 1u)}) {
    auto with = cast<KernelOpInterface>(program.find(mnemonic, "dropout"));
    SmallVector<ShardOffset> offsets = with.getShardOffsets();
    ASSERT_EQ(offsets.size(), 1u);
    EXPECT_EQ(offsets[0].attribute, "width_offset");
    EXPECT_EQ(offsets[0].operand, query);
    EXPECT_EQ(offsets[0].dim, 2u);
    EXPECT_TRUE(with.getKernelAttributes().get("key"));
    EXPECT_TRUE(with.getKernelAttributes().get("dropout"));
    auto without = cast<KernelOpInterface>(program.find(mnemonic));
    EXPECT_TRUE(without.getShardOffsets().empty());
    for (const char *name : {"key", "dropout", "seed", "stream"})
      EXPECT_FALSE(without.getKernelAttributes().get(name)) << name;
  }
  auto key = [&](const char *mnemonic) {
    return cast<KernelOpInterface>(program.find(mnemonic, "dropout")).getKernelAttributes().get("key");
  };
  EXPECT_EQ(key("attention"), key("attention_grad")) << "the backward draws the forward's mask";
}

TEST(KernelFacts, DropoutKeysDifferBySeedAndStream) {
  OpProgram program;
  auto dropout = cast<DropoutOp>(program.find("dropout"));
  std::set<int64_t> keys;
  for (int64_t seed : {0, 1, -1})
    for (StringRef stream : {"layers.0.attn.dropout", "layers.1.attn.dropout", "layers.0.mlp.dropout"}) {
      dropout.setSeed(seed);
      dropout.setStream(stream);
      NamedAttrList attributes = cast<KernelOpInterface>(dropout.getOperation()).getKernelAttributes();
      EXPECT_EQ(attributes.getAttrs().size(), 2u);
      keys.insert(cast<IntegerAttr>(attributes.get("key")).getInt());
    }
  EXPECT_EQ(keys.size(), 9u);
}

TEST(KernelFacts, LossTermsAreNamedOnlyWhereTheyCount) {
  OpProgram program;
  auto attributesOf = [&](StringRef mnemonic, StringRef label = "") {
    return cast<KernelOpInterface>(program.find(mnemonic, label)).getKernelAttributes();
  };
  EXPECT_TRUE(attributesOf("cross_entropy").empty());
  EXPECT_TRUE(attributesOf("cross_entropy_grad").empty());
  Builder builder(program.context());
  EXPECT_EQ(attributesOf("token_loss", "smoothed").get("label_smoothing"), builder.getF64FloatAttr(0.1));
  EXPECT_TRUE(attributesOf("loss_statistics").empty()) << "without padding or a mean nobody asks for the vocabulary";
  EXPECT_EQ(attributesOf("loss_statistics", "smoothed").get("vocabulary"),
            builder.getI64IntegerAttr(OpProgram::vocabulary));
  auto grad = cast<CrossEntropyGradOp>(program.find("cross_entropy_grad"));
  grad.setLabelSmoothing(APFloat(0.5));
  EXPECT_EQ(attributesOf("cross_entropy_grad").get("vocabulary"), builder.getI64IntegerAttr(OpProgram::vocabulary));
}

TEST(KernelFacts, AttributesAreTheOpsOwn) {
  OpProgram program;
  NamedAttrList attributes = cast<KernelOpInterface>(program.find("attention", "full")).getKernelAttributes();
  Builder builder(program.context());
  EXPECT_EQ(attributes.getAttrs().size(), 3u); // not the label, which is the test's
  EXPECT_EQ(attributes.get("head_dim"), builder.getI64IntegerAttr(4));
  EXPECT_EQ(attributes.get("scale"), builder.getF64FloatAttr(0.5));
  EXPECT_EQ(attributes.get("causal"), builder.getBoolAttr(false));
}

} // namespace
