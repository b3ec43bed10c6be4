//===- OpKnowledge.cpp - what an op knows about itself ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/interfaces/OpKnowledge.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

#include "dialects/interfaces/OpKnowledge.cpp.inc"

int64_t tgpt::bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !tensor.getElementType().isIntOrFloat())
    return 0;
  return tensor.getNumElements() * ((tensor.getElementTypeBitWidth() + 7) / 8);
}

int64_t tgpt::sumBytes(TypeRange types) {
  int64_t bytes = 0;
  for (Type type : types)
    bytes += bytesOf(type);
  return bytes;
}

NamedAttrList tgpt::scalarAttributes(Operation *op) {
  NamedAttrList scalars;
  for (StringAttr name : op->getRegisteredInfo()->getAttributeNames())
    if (std::optional<Attribute> value = op->getInherentAttr(name); value && *value)
      if (isa<IntegerAttr, FloatAttr, StringAttr>(*value))
        scalars.append(name, *value);
  return scalars;
}

bool tgpt::addsCanonically(Operation *op) {
  while (Operation *parent = op->getParentOp())
    op = parent;
  return op->hasAttr(reductionAttributeName);
}

Type tgpt::accumulationType(Type elementType) {
  return elementType.isF64() ? elementType : Type(Float32Type::get(elementType.getContext()));
}
