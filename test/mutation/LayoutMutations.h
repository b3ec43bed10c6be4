//===- test/mutation/LayoutMutations.h - false claims about where a value lives -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_MUTATION_LAYOUTMUTATIONS_H
#define TGPT_TEST_MUTATION_LAYOUTMUTATIONS_H

#include "dialects/dist/Dist.h"

#include <string>
#include <vector>

namespace tgpt {

struct FalseType {
  std::string mutation;
  mlir::RankedTensorType type;
};

/// Types of the same local shape that claim another layout than this one, on a mesh
/// with axes dp and tp.
std::vector<FalseType> falseTypesOf(mlir::RankedTensorType type, dist::MeshOp mesh);

} // namespace tgpt

#endif // TGPT_TEST_MUTATION_LAYOUTMUTATIONS_H
