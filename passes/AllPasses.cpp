//===- AllPasses.cpp - what the phases of the compiler are made of ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AllPasses.h"
#include "mlir/Transforms/Passes.h"
#include "passes/lowering/Passes.h"
#include "passes/memory/Passes.h"
#include "passes/model/Passes.h"
#include "passes/pipeline/Passes.h"
#include "passes/recompute/Passes.h"
#include "passes/sharding/Passes.h"
#include "passes/training/Passes.h"
#include "passes/zero/Passes.h"

void tgpt::registerAllPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  registerModelPasses();
  registerTrainingPasses();
  registerRecomputePasses();
  registerShardingPasses();
  registerZeroPasses();
  registerPipelinePasses();
  registerLoweringPasses();
  registerMemoryPasses();
}
