//===- ShardingRule.h - how an op may be sharded ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op states once, like an einsum, which of its dims are the same dim. Each
// letter is a factor. "bsk,nk->bsn" says: operand 0 has dims b, s, k, operand 1
// n and k, the result b, s, n.
//
//   - a factor in operands and results may be sharded: all its dims together, each of which
//     must divide. A dim may count equal groups of the factor's entries, and so be shorter
//     than another (parts of a vocabulary, beside its columns);
//   - a factor of the operands that a result lacks is reduced in it: sharding the
//     factor leaves that result a partial value over those axes;
//   - a blocked factor must not be sharded.
//
// A dim may be a product of factors of known sizes, in parentheses, outermost
// first: "ab(HGD),ab(HD)->ab(HGD)" says that the last dim of operand 0 counts H x G
// x D elements and that of operand 1 H x D. The axes that shard such a dim are dealt
// out in order: each goes to the outermost factor that is not yet cut into single
// entries, and must divide what is left of it. So two axes may shard H and G of
// operand 0 while the first alone shards operand 1; what lacks G is then reduced over
// the second.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_INTERFACES_SHARDINGRULE_H
#define TGPT_DIALECTS_INTERFACES_SHARDINGRULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace tgpt {

struct ShardingRule {
  /// How partial operands pass through the op.
  enum class Linearity {
    None,  ///< operands must not be partial
    Joint, ///< linear in all operands together (add): all partial over the same axes, so is the result
    Each   ///< linear in each of `linearOperands` alone (a product): one of them may be partial over axes that
           ///< neither shard the op's factors nor make another partial; all results are then partial over them too
  };

  /// A factor whose dims are made of equal units that must stay whole: a dim of
  /// `n` elements has n / unit shards at most (heads of head_dim elements). So it is
  /// where the factor is a group's last letter; elsewhere its dim has one entry a
  /// unit (a log-sum-exp a head).
  struct Granularity {
    char factor;
    int64_t unitElements;
    std::string unitName; ///< for messages: "head"
  };

  /// A factor of a product dim: how many entries it has.
  struct Size {
    char factor;
    int64_t entries;
    std::string unitName; ///< for messages: "KV head"
  };

  /// The factors of each dim of a tensor: one letter, or several where the dim is a product.
  using Dims = llvm::SmallVector<std::string>;

  llvm::SmallVector<Dims> operands;
  llvm::SmallVector<Dims> results;
  std::string blocked;
  Linearity linearity = Linearity::None;
  llvm::SmallVector<unsigned> linearOperands; ///< those of Linearity::Each
  /// The result may be taken as partial over any axes (a fill with zeros).
  bool mayBePartial = false;
  /// Nothing is added: the operands are taken for their part of a sum, partial where sums are canonical as well.
  bool addsNothing = false;
  llvm::SmallVector<Granularity> granularities;
  llvm::SmallVector<Size> sizes;

  /// Parses "bsk,nk->bsn" or "b(hd)->bh"; whitespace between operands is free. An empty group is a scalar.
  static ShardingRule parse(llvm::StringRef einsum);

  ShardingRule &block(llvm::StringRef factors);
  ShardingRule &joint();
  ShardingRule &linearIn(llvm::ArrayRef<unsigned> operands);
  ShardingRule &granular(char factor, int64_t unitElements, llvm::StringRef unitName);
  ShardingRule &sized(char factor, int64_t entries, llvm::StringRef unitName);

  /// All factors in order of first appearance.
  std::string factors() const;
  bool isBlocked(char factor) const { return blocked.find(factor) != std::string::npos; }
  /// True when `factor` is in some operand but in no result.
  bool isReduction(char factor) const;
  /// True when `factor` is in some operand but not in `result`: sharding it leaves
  /// that result partial.
  bool isReducedIn(char factor, const Dims &result) const;
  int64_t unitElements(char factor) const;
  /// Elements that must stay together in the dim of `tensor` that is `factor`.
  int64_t unitElements(char factor, const Dims &tensor) const;
  /// What the rule says of the size of a factor, or null.
  const Size *sizeOf(char factor) const;
  bool isLinearIn(unsigned operand) const;
  /// The einsum, as `parse` takes it.
  std::string text() const;

  /// "ab(HD)" -> a, b, HD.
  static Dims dims(llvm::StringRef group);
  static bool contains(const Dims &tensor, char factor);
};

/// Letters for `count` leading dims: "abc...", disjoint from the upper-case
/// letters that ops use for their trailing dims.
std::string leadingFactors(int64_t count);

} // namespace tgpt

#endif // TGPT_DIALECTS_INTERFACES_SHARDINGRULE_H
