//===- Constraint.cpp - the checks that op verifiers are made of ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Constraint.h"
#include "dialects/interfaces/OpKnowledge.h"
#include <cmath>

using namespace mlir;
using namespace tgpt;

static bool agree(int64_t a, int64_t b) {
  return a == b || ShapedType::isDynamic(a) || ShapedType::isDynamic(b);
}

InFlightDiagnostic Constraint::report() const {
  return op->emitOpError() << label << ": ";
}

bool Constraint::hasRank(const NamedTensor &tensor, int64_t rank) const {
  if (tensor.rank() == rank)
    return true;
  report() << tensor.name << " has rank " << tensor.rank() << ", expected " << rank;
  return false;
}

bool Constraint::hasRankAtLeast(const NamedTensor &tensor, int64_t rank) const {
  if (tensor.rank() >= rank)
    return true;
  report() << tensor.name << " has rank " << tensor.rank() << ", expected at least " << rank;
  return false;
}

bool Constraint::sameDim(const NamedTensor &a, int64_t dimOfA, const NamedTensor &b, int64_t dimOfB) const {
  int64_t sizeOfA = a.type.getDimSize(dimOfA), sizeOfB = b.type.getDimSize(dimOfB);
  if (agree(sizeOfA, sizeOfB))
    return true;
  report() << a.name << " dim " << dimOfA << " is " << sizeOfA << " but " << b.name << " dim " << dimOfB << " is "
           << sizeOfB;
  return false;
}

bool Constraint::sameLeadingDims(const NamedTensor &a, const NamedTensor &b, int64_t count) const {
  for (int64_t dim = 0; dim < count; ++dim)
    if (!sameDim(a, dim, b, dim))
      return false;
  return true;
}

bool Constraint::sameShape(const NamedTensor &a, const NamedTensor &b) const {
  return hasRank(a, b.rank()) && sameLeadingDims(a, b, a.rank());
}

bool Constraint::sameElementType(const NamedTensor &a, const NamedTensor &b) const {
  if (a.type.getElementType() == b.type.getElementType())
    return true;
  report() << a.name << " is " << a.type.getElementType() << " but " << b.name << " is " << b.type.getElementType();
  return false;
}

bool Constraint::accumulates(const NamedTensor &statistic, const NamedTensor &computed) const {
  Type expected = accumulationType(computed.type.getElementType());
  if (statistic.type.getElementType() == expected)
    return true;
  report() << statistic.name << " is " << statistic.type.getElementType() << " but " << computed.name << " is "
           << computed.type.getElementType() << ", which accumulates in " << expected;
  return false;
}

bool Constraint::isMultiple(const NamedTensor &tensor, int64_t dim, int64_t unit, StringRef unitName) const {
  int64_t size = tensor.type.getDimSize(dim);
  if (ShapedType::isDynamic(size) || size % unit == 0)
    return true;
  InFlightDiagnostic diagnostic = report();
  diagnostic << tensor.name << " dim " << dim << " is " << size << " but " << unitName << " " << unit
             << " does not divide it";
  diagnostic.attachNote() << "nearest multiple is " << std::max(unit, (size + unit / 2) / unit * unit);
  return false;
}

bool Constraint::isNumber(StringRef name, const APFloat &number, function_ref<bool(double)> isLegal,
                          StringRef expected) const {
  double value = number.convertToDouble();
  if (isLegal(value))
    return true;
  SmallString<24> text;
  number.toString(text);
  report() << name << " is " << text.str() << ", expected " << expected;
  return false;
}

bool Constraint::isNotNegative(StringRef name, const APFloat &number) const {
  return isNumber(
      name, number, [](double value) { return value >= 0 && std::isfinite(value); }, "a finite number of at least 0");
}

bool Constraint::isShare(StringRef name, const APFloat &number) const {
  return isNumber(
      name, number, [](double value) { return value >= 0 && value < 1; }, "a number of at least 0 and below 1");
}

bool Constraint::holds(bool condition, const Twine &message) const {
  if (!condition)
    report() << message;
  return condition;
}
