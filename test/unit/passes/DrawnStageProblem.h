//===- DrawnStageProblem.h - random problems of cutting into stages ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_PASSES_DRAWNSTAGEPROBLEM_H
#define TGPT_TEST_UNIT_PASSES_DRAWNSTAGEPROBLEM_H

#include "passes/pipeline/StageCut.h"
#include <cstdint>

namespace tgpt::test {

int64_t draw(int64_t least, int64_t most);

StageProblem drawProblem(int64_t layers, int64_t stages, int64_t chunks, bool isUniform = false);

/// A limit at some of the bytes that cuts of the problem have; now and then below all of them.
int64_t drawLimit(const StageProblem &problem);

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_PASSES_DRAWNSTAGEPROBLEM_H
