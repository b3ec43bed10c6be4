//===- CollectiveSeconds.h - how long a collective takes on a cluster's links ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_DIST_COLLECTIVESECONDS_H
#define TGPT_DIALECTS_DIST_COLLECTIVESECONDS_H

#include "cost/Topology.h"
#include "dialects/dist/Dist.h"

namespace tgpt::dist {

/// The groups over some axes of the mesh, all of which run a collective at once.
cost::Group groupOver(MeshOp mesh, llvm::ArrayRef<llvm::StringRef> axes);
/// Of a collective in a module with a mesh, alone on the links but for the other groups of its axes.
double collectiveSeconds(mlir::Operation *collective, const cost::Topology &links);

} // namespace tgpt::dist

#endif // TGPT_DIALECTS_DIST_COLLECTIVESECONDS_H
