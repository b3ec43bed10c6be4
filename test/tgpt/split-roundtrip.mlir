// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

// CHECK-LABEL: @fused_qkv
// CHECK: %{{.+}}:3 = tgpt.split %{{.+}} {names = ["q", "k", "v"]} : (tensor<?x8x12xf32>) -> (tensor<?x8x8xf32>, tensor<?x8x2xf32>, tensor<?x8x2xf32>)
func.func @fused_qkv(%x: tensor<?x8x12xf32>) {
  %split:3 = tgpt.split %x {names = ["q", "k", "v"]} : (tensor<?x8x12xf32>) -> (tensor<?x8x8xf32>, tensor<?x8x2xf32>, tensor<?x8x2xf32>)
  return
}
