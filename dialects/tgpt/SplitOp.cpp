//===- SplitOp.cpp - the parts of a fused linear ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Constraint.h"
#include "dialects/tgpt/Tgpt.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tgpt;

static bool isWord(StringRef name) {
  return !name.empty() && llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

LogicalResult SplitOp::verify() {
  NamedTensor input("input", getInput());
  Constraint c1(*this, "C1"), c2(*this, "C2"), c3(*this, "C3");
  size_t parts = getParts().size();
  if (!c1.holds(parts >= 2, "has " + Twine(parts) + " parts, expected at least 2") || !c1.hasRankAtLeast(input, 1))
    return failure();
  int64_t last = input.rank() - 1, width = 0;
  for (Value value : getParts()) {
    NamedTensor part("part", value);
    if (!c1.hasRank(part, input.rank()) || !c1.sameLeadingDims(part, input, last) || !c1.sameElementType(part, input))
      return failure();
    width += part.type.getDimSize(last);
  }
  if (!c2.holds(width == input.type.getDimSize(last),
                "the parts have " + Twine(width) + " columns, the input " + Twine(input.type.getDimSize(last))) ||
      !c3.holds(getNames().size() == parts,
                "has " + Twine(getNames().size()) + " names for " + Twine(parts) + " parts"))
    return failure();
  llvm::StringSet<> seen;
  for (StringRef name : getNames().getAsValueRange<StringAttr>())
    if (!c3.holds(isWord(name) && seen.insert(name).second,
                  "name '" + name + "' is not a word of letters, digits and '_', or is taken"))
      return failure();
  return success();
}
