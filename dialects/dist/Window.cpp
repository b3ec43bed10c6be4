//===- Window.cpp - which part of a logical tensor a variable is ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"

using namespace mlir;
using namespace tgpt::dist;

LogicalResult WindowAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr name, ArrayRef<int64_t> shape,
                                 ArrayRef<int64_t> at) {
  if (name.empty())
    return emitError() << "a window is of a tensor with a name";
  if (shape.empty() || shape.size() != at.size()) // C1
    return emitError() << "'shape' has " << shape.size() << " dims and 'at' " << at.size()
                       << ", expected equally many and at least one";
  for (auto [dim, size, start] : llvm::enumerate(shape, at))
    if (size < 1 || start < 0 || start >= size) // C2
      return emitError() << "dim " << dim << " is " << size << " and begins at " << start
                         << ", expected a place inside of it";
  return success();
}

int64_t WindowAttr::elementsIn(ArrayRef<int64_t> variableShape) const {
  int64_t elements = 1;
  for (auto [size, start, held] : llvm::zip_equal(getShape(), getAt(), variableShape))
    elements *= std::min(held, size - start);
  return elements;
}
