//===- OpKnowledge.h - what an op knows about itself ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_INTERFACES_OPKNOWLEDGE_H
#define TGPT_DIALECTS_INTERFACES_OPKNOWLEDGE_H

#include "cost/KernelTime.h"
#include "dialects/interfaces/ShardingRule.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OperationSupport.h"
#include <optional>
#include <string>
#include <vector>

namespace tgpt {

/// The gradients that reverse mode has found so far. The differentiation pass
/// implements it; ops only read and add.
class Gradients {
public:
  virtual ~Gradients() = default;
  /// Gradient of `value`, or null.
  virtual mlir::Value of(mlir::Value value) = 0;
  /// True when `value` depends on a parameter, so that a gradient is of use.
  virtual bool isWanted(mlir::Value value) = 0;
  /// Adds `gradient` to the gradient of `value`.
  virtual void add(mlir::Value value, mlir::Value gradient) = 0;
  /// The type a gradient of `value` must have: the accumulator's element type
  /// (f32 or f64) for a parameter, else the type of the value itself.
  virtual mlir::RankedTensorType typeOf(mlir::Value value) = 0;
};

/// A kernel attribute that differs between ranks: the index of the first element
/// held here along `dim` of operand (or result) `operand`, which is the local size
/// of that dim times the rank's index along the axes that shard it.
struct ShardOffset {
  std::string attribute;
  unsigned operand;
  unsigned dim;
  bool isResult = false;              ///< `operand` counts results
  std::vector<std::string> axes = {}; ///< only these of the axes that shard the dim; empty: all
};

/// The dim of an operand that an op's sum runs over, and how it is cut into chunks.
struct ChunkedDim {
  enum class Cut {
    IntoChunks,  ///< into as many as are asked for, or the most below that divide it
    EachElement, ///< every element (a sample) is a chunk
    Whole        ///< one chunk: no grid shards what is summed
  };
  unsigned operand, dim;
  Cut cut = Cut::IntoChunks;
  int64_t unitElements = 1; ///< elements that must stay together (of a head)
};

/// Checks the layouts in the types of `op` against its sharding rule
/// (dialects/dist/VerifyLayouts.cpp). Types without layout pass.
llvm::LogicalResult verifyLayouts(mlir::Operation *op);

/// Discardable attribute on a module whose program must give the same bits on every
/// grid: "canonical".
inline constexpr llvm::StringLiteral reductionAttributeName = "tgpt.reduction";
/// True inside such a module. There no op takes a partial sum, however linear it is:
/// (a + b) over the ranks is not (a over the ranks) + (b over the ranks) to the last bit.
bool addsCanonically(mlir::Operation *op);

/// The shape of the whole tensor of which `type` is a shard: the one its layout
/// claims, or its own (dialects/dist/GlobalShape.cpp).
llvm::SmallVector<int64_t> globalShapeOf(mlir::RankedTensorType type);

/// The first dim that the layout of `type` shards, by an axis of whatever size
/// (dialects/dist/GlobalShape.cpp); none without a layout.
std::optional<unsigned> shardedDimOf(mlir::RankedTensorType type);

/// Bytes of one dense tensor type; 0 where a dim is dynamic.
int64_t bytesOf(mlir::Type type);
/// Total bytes of dense tensor types.
int64_t sumBytes(mlir::TypeRange types);
/// The op's inherent integer, float, bool and string attributes.
mlir::NamedAttrList scalarAttributes(mlir::Operation *op);
/// The accumulation and statistics type of a compute type: f64 for f64, else f32.
mlir::Type accumulationType(mlir::Type elementType);

/// The op's results are gradients of parameters, for which no other pipeline stage waits.
template <typename ConcreteType>
class ParameterGradient : public mlir::OpTrait::TraitBase<ConcreteType, ParameterGradient> {};

} // namespace tgpt

#include "dialects/interfaces/OpKnowledge.h.inc"

#endif // TGPT_DIALECTS_INTERFACES_OPKNOWLEDGE_H
