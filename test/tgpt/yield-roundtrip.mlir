// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

// CHECK-LABEL: @values
func.func @values(%x: tensor<4xf32>, %y: tensor<6xf32>) {
  %0:2 = tgpt.repeat 2 (%a = %x, %b = %y) : tensor<4xf32>, tensor<6xf32> {
    // CHECK: tgpt.yield %{{.+}}, %{{.+}} : tensor<4xf32>, tensor<6xf32>
    tgpt.yield %a, %b : tensor<4xf32>, tensor<6xf32>
  }
  return
}
