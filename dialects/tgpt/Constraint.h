//===- Constraint.h - the checks that op verifiers are made of ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each check compares two facts of an op and, where they disagree, reports both
// with the label the constraint has in the op's description:
//
//   'tgpt.linear' op C2: input dim 2 is 64 but weight dim 1 is 48
//
// Shapes may be global or one rank's shard: only relations between the types of
// one op are checked, never absolute sizes. A dynamic dim agrees with any size.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_TGPT_CONSTRAINT_H
#define TGPT_DIALECTS_TGPT_CONSTRAINT_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace tgpt {

/// An operand or result under the name it has in the op's definition.
struct NamedTensor {
  NamedTensor(llvm::StringRef name, mlir::Value value)
      : name(name), type(llvm::cast<mlir::RankedTensorType>(value.getType())) {}
  int64_t rank() const { return type.getRank(); }

  llvm::StringRef name;
  mlir::RankedTensorType type;
};

/// One labelled constraint of an op. Each method returns true when it holds, and
/// otherwise reports the facts that disagree.
class Constraint {
public:
  Constraint(mlir::Operation *op, llvm::StringRef label) : op(op), label(label) {}

  bool hasRank(const NamedTensor &tensor, int64_t rank) const;
  bool hasRankAtLeast(const NamedTensor &tensor, int64_t rank) const;
  bool sameDim(const NamedTensor &a, int64_t dimOfA, const NamedTensor &b, int64_t dimOfB) const;
  /// The first `count` dims are pairwise equal; both have at least as many.
  bool sameLeadingDims(const NamedTensor &a, const NamedTensor &b, int64_t count) const;
  bool sameShape(const NamedTensor &a, const NamedTensor &b) const;
  bool sameElementType(const NamedTensor &a, const NamedTensor &b) const;
  /// `statistic` has the accumulation type of the element type of `computed`.
  bool accumulates(const NamedTensor &statistic, const NamedTensor &computed) const;
  /// The size of `dim` is a multiple of `unit` (`unitName` in the message).
  bool isMultiple(const NamedTensor &tensor, int64_t dim, int64_t unit, llvm::StringRef unitName) const;
  /// A condition on the number in attribute `name`; `expected` completes "expected ...".
  bool isNumber(llvm::StringRef name, const llvm::APFloat &number, llvm::function_ref<bool(double)> isLegal,
                llvm::StringRef expected) const;
  /// `number` is finite and at least 0.
  bool isNotNegative(llvm::StringRef name, const llvm::APFloat &number) const;
  /// `number` is at least 0 and below 1.
  bool isShare(llvm::StringRef name, const llvm::APFloat &number) const;
  /// Any other condition.
  bool holds(bool condition, const llvm::Twine &message) const;

private:
  mlir::InFlightDiagnostic report() const;

  mlir::Operation *op;
  llvm::StringRef label;
};

} // namespace tgpt

#endif // TGPT_DIALECTS_TGPT_CONSTRAINT_H
