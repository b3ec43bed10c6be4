// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

// CHECK: #dist.window<"t", shape = [4, 5], at = [0, 3]>
module attributes {test.w = #dist.window<"t", shape = [4, 5], at = [0, 3]>} {}
