//===- RandomStream.h - what ops that draw random numbers share ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_TGPT_RANDOMSTREAM_H
#define TGPT_DIALECTS_TGPT_RANDOMSTREAM_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace mlir {
class Operation;
} // namespace mlir

namespace tgpt {

/// The constraint `label`: the stream has a name, with one `*` inside a tgpt.repeat and
/// none elsewhere. Layers must not share a stream: their masks would be equal.
bool isLegalStream(mlir::Operation *op, llvm::StringRef label, llvm::StringRef stream);

/// The generator's key: ops of one seed and stream draw the same numbers.
int64_t streamKey(int64_t seed, llvm::StringRef stream);

} // namespace tgpt

#endif // TGPT_DIALECTS_TGPT_RANDOMSTREAM_H
