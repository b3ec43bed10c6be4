// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 3, pp = 1, tp = 2)
tgpt.parameter @up.weight : tensor<4x5xf32, #dist.layout<[tp, -], of = [8, 5]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @down.weight : tensor<5x4xf32, #dist.layout<[-, tp], of = [5, 8]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.state gradient @up.gradient of @up.weight : tensor<4x5xf32, #dist.layout<[tp, -], partial = [dp], of = [8, 5]>> {transient}
tgpt.state gradient @down.gradient of @down.weight : tensor<5x4xf32, #dist.layout<[-, tp], partial = [dp], of = [5, 8]>> {transient}

// CHECK: tgpt.bucket @parameters of [@up.weight, @down.weight] at [0, 20] : tensor<1x42xf32, #dist.layout<[tp, -], of = [2, 42]>>
tgpt.bucket @parameters of [@up.weight, @down.weight] at [0, 20] : tensor<1x42xf32, #dist.layout<[tp, -], of = [2, 42]>>
// In pieces, and so reduced over their axis.
// CHECK: tgpt.bucket @gradients of [@up.gradient, @down.gradient] at [0, 20] : tensor<1x14xf32, #dist.layout<[tp, dp], of = [2, 42]>>
tgpt.bucket @gradients of [@up.gradient, @down.gradient] at [0, 20] : tensor<1x14xf32, #dist.layout<[tp, dp], of = [2, 42]>>

// CHECK-LABEL: @use
func.func @use() {
  // CHECK: tgpt.read @gradients
  %0 = tgpt.read @gradients : tensor<1x14xf32, #dist.layout<[tp, dp], of = [2, 42]>>
  // CHECK: tgpt.accumulate %{{.*}}, @gradients
  tgpt.accumulate %0, @gradients : tensor<1x14xf32, #dist.layout<[tp, dp], of = [2, 42]>>
  %1 = tgpt.read @parameters : tensor<1x42xf32, #dist.layout<[tp, -], of = [2, 42]>>
  // CHECK: tgpt.write %{{.*}}, @parameters
  tgpt.write %1, @parameters : tensor<1x42xf32, #dist.layout<[tp, -], of = [2, 42]>>
  return
}
