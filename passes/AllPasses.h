//===- AllPasses.h - what the phases of the compiler are made of ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_ALLPASSES_H
#define TGPT_PASSES_ALLPASSES_H

namespace tgpt {

/// All passes of tgpt and those of MLIR that its phases use, by name for textual pipelines.
void registerAllPasses();

} // namespace tgpt

#endif // TGPT_PASSES_ALLPASSES_H
