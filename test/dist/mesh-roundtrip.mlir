// RUN: tgpt-opt %s -split-input-file | tgpt-opt -split-input-file | FileCheck %s
// RUN: tgpt-opt %s -split-input-file --mlir-print-op-generic | tgpt-opt -split-input-file | FileCheck %s

// CHECK: dist.mesh @mesh (dp = 2, pp = 4, tp = 1)
dist.mesh @mesh (dp = 2, pp = 4, tp = 1)

// -----

// A single device has a mesh without axes.
// CHECK: dist.mesh @single () {note = "kept"}
dist.mesh @single () {note = "kept"}
