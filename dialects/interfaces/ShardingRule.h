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
//   - a factor in operands and results may be sharded: all its dims together;
//   - a factor of the operands that a result lacks is reduced in it: sharding the
//     factor leaves that result a partial value over those axes;
//   - a blocked factor must not be sharded.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_INTERFACES_SHARDINGRULE_H
#define TGPT_DIALECTS_INTERFACES_SHARDINGRULE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace tgpt {

struct ShardingRule {
  /// How partial operands pass through the op.
  enum class Linearity {
    None, ///< operands must not be partial
    Joint ///< linear in all operands together (add): all partial over the same axes, so is the result
  };
  enum class Reduction { Sum, Max };

  /// A factor whose dims are made of equal units that must stay whole: a dim of
  /// `n` elements has n / unit shards at most (heads of head_dim elements). So it is
  /// where the factor is a group's last letter; elsewhere its dim has one entry a
  /// unit (a log-sum-exp a head).
  struct Granularity {
    char factor;
    int64_t unitElements;
    std::string unitName; ///< for messages: "head"
  };

  llvm::SmallVector<std::string> operands; ///< one letter per dim
  llvm::SmallVector<std::string> results;
  std::string blocked;
  Linearity linearity = Linearity::None;
  Reduction reduction = Reduction::Sum;
  /// The result may be taken as partial over any axes (a fill with zeros).
  bool mayBePartial = false;
  llvm::SmallVector<Granularity> granularities;

  /// Parses "bsk,nk->bsn". An empty group is a scalar.
  static ShardingRule parse(llvm::StringRef einsum);

  ShardingRule &block(llvm::StringRef factors);
  ShardingRule &joint();
  ShardingRule &reduceMax();
  ShardingRule &granular(char factor, int64_t unitElements, llvm::StringRef unitName);

  /// All factors in order of first appearance.
  std::string factors() const;
  bool isBlocked(char factor) const { return blocked.find(factor) != std::string::npos; }
  /// True when `factor` is in some operand but in no result.
  bool isReduction(char factor) const;
  /// True when `factor` is in some operand but not in `resultGroup`: sharding it
  /// leaves that result partial.
  bool isReducedIn(char factor, llvm::StringRef resultGroup) const;
  int64_t unitElements(char factor) const;
  /// Elements that must stay together in the dim of `group` that is `factor`.
  int64_t unitElements(char factor, llvm::StringRef group) const;
};

/// Letters for `count` leading dims: "abc...", disjoint from the upper-case
/// letters that ops use for their trailing dims.
std::string leadingFactors(int64_t count);

} // namespace tgpt

#endif // TGPT_DIALECTS_INTERFACES_SHARDINGRULE_H
