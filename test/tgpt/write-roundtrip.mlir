// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

tgpt.parameter @weight : tensor<24x12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.state gradient @weight.gradient of @weight : tensor<24x12xf32>

// CHECK-LABEL: @parameter_and_state
func.func @parameter_and_state(%x: tensor<24x12xf32>) {
  // CHECK: tgpt.write %{{.+}}, @weight : tensor<24x12xf32>
  tgpt.write %x, @weight : tensor<24x12xf32>
  // CHECK: tgpt.write %{{.+}}, @weight.gradient : tensor<24x12xf32>
  tgpt.write %x, @weight.gradient : tensor<24x12xf32>
  return
}
