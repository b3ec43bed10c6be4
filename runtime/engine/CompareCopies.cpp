//===- CompareCopies.cpp - whether all copies of a variable are equal ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Scalar.h"
#include "runtime/engine/VariableTable.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <cstring>
#include <tuple>

using namespace tgpt;
using namespace tgpt::runtime;

/// The same bits, or two zeros (a sum of no terms is +0, a product may be -0).
static bool sameElement(const TensorView &a, const TensorView &b, int64_t i) {
  size_t size = sizeInBytes(a.dtype);
  return std::memcmp(a.as<std::byte>() + i * size, b.as<std::byte>() + i * size, size) == 0 ||
         (loadElement(a, i) == 0 && loadElement(b, i) == 0);
}

static bool sameElements(const TensorView &a, const std::byte *b) {
  if (a.elements() == 0 || std::memcmp(a.data, b, a.bytes()) == 0)
    return true;
  TensorView other = a;
  other.data = const_cast<std::byte *>(b);
  for (int64_t i = 0; i < a.elements(); ++i)
    if (!sameElement(a, other, i))
      return false;
  return true;
}

void VariableTable::failDifferent(const Copy &copy, const std::string &source, const std::byte *expected,
                                  int64_t rank) const {
  TensorView held = runOf(copy, rank).elements;
  TensorView other = held;
  other.data = const_cast<std::byte *>(expected);
  int64_t i = 0;
  while (sameElement(held, other, i))
    ++i;
  throw Error("copies of variable '" + copy.variable->name() + "' differ: local element " + std::to_string(i) + " of " +
              grid.describe(rank) + " is " + std::to_string(loadElement(held, i)) + ", but " + source + " has " +
              std::to_string(loadElement(other, i)));
}

/// What every rank holds equals its part of the assembled tensor, and its padding is 0.
void VariableTable::verifyAgainst(const LogicalTensor &expected, const Copy &copy, int64_t ownerStage) const {
  for (int64_t rank : holders(copy)) {
    ShardRun run = runOf(copy, rank);
    std::vector<std::byte> part(run.elements.bytes());
    expected.copyRun(run, part.data());
    if (!sameElements(run.elements, part.data()))
      failDifferent(copy, "the first copy in stage " + std::to_string(ownerStage), part.data(), rank);
  }
}

/// Addends differ by design: only replicas of one addend are compared.
void VariableTable::verifyPartial(const Copy &copy) const {
  auto place = [&](int64_t rank, const ShardRun &run) {
    return std::tuple(run.shard.start, run.first, run.count(), grid.indexAlong(rank, copy.variable->partial_axes()));
  };
  for (int64_t first : holders(copy)) {
    if (!isFirstReplica(copy, first))
      continue;
    ShardRun expected = runOf(copy, first);
    for (int64_t rank : holders(copy)) {
      ShardRun run = runOf(copy, rank);
      if (run.count() > 0 && place(rank, run) == place(first, expected) &&
          !sameElements(run.elements, expected.elements.as<std::byte>()))
        failDifferent(copy, grid.describe(first), expected.elements.as<std::byte>(), rank);
    }
  }
}

void VariableTable::verifyCopiesEqual() const {
  for (const auto &[name, logical] : variables) {
    // A metric is each stage's own counter, and so is a sum that waits for others (canonical reduction).
    if (logical.entry.role() == plan::Variable::METRIC || name.find(".carry.") != std::string::npos)
      continue;
    auto isPartial = [](const Copy &copy) { return copy.variable->partial_axes_size() > 0; };
    LogicalTensor expected;
    for (const Copies &copies : logical.parts) {
      bool partial = std::any_of(copies.begin(), copies.end(), isPartial);
      if (!partial && expected.bytes.empty())
        expected = read(name);
      for (const Copy &copy : copies)
        partial ? verifyPartial(copy) : verifyAgainst(expected, copy, copies.front().stage);
    }
  }
}
