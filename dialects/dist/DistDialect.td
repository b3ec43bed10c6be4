//===- DistDialect.td - where a value lives ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_DIST_DISTDIALECT_TD
#define TGPT_DIALECTS_DIST_DISTDIALECT_TD

include "mlir/IR/OpBase.td"

def DistDialect : Dialect {
  let name = "dist";
  let summary = "where a value lives: mesh, layouts, collectives, pipeline segments";
  let description = [{
    A `dist.mesh` names the axes of the device grid. A tensor's layout is the
    encoding of its type (`#dist.layout`): per dim the axes that shard it, and the
    axes over which the devices hold addends of the true value. Before
    `dist-partition` types are global; after it they are local and the layout
    keeps the global shape (`of`) as a checked claim.
  }];
  let cppNamespace = "::tgpt::dist";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = [];
}

#endif // TGPT_DIALECTS_DIST_DISTDIALECT_TD
