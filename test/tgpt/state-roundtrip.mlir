// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)

tgpt.parameter @weight : tensor<24x12xbf16> = #tgpt.init<mean = 0.0, stddev = 0.02>

// CHECK: tgpt.state gradient @weight.gradient of @weight : tensor<24x12xf32> {transient}
tgpt.state gradient @weight.gradient of @weight : tensor<24x12xf32> {transient}
// CHECK: tgpt.state moment1 @weight.moment1 of @weight : tensor<24x12xf32>
tgpt.state moment1 @weight.moment1 of @weight : tensor<24x12xf32>
// CHECK: tgpt.state moment2 @weight.moment2 of @weight : tensor<24x12xf32>
tgpt.state moment2 @weight.moment2 of @weight : tensor<24x12xf32>
// CHECK: tgpt.state master @weight.master of @weight : tensor<24x12xf32>
tgpt.state master @weight.master of @weight : tensor<24x12xf32>
// CHECK: tgpt.state metric @loss_sum : tensor<f64> {transient}
tgpt.state metric @loss_sum : tensor<f64> {transient}

// CHECK: tgpt.state scaling @loss_scale : tensor<f32> {initial = 6.553600e+04 : f64}
tgpt.state scaling @loss_scale : tensor<f32> {initial = 65536.0 : f64}
// CHECK: tgpt.state scaling @good_steps : tensor<f64>{{$}}
tgpt.state scaling @good_steps : tensor<f64>

// A state may be sharded otherwise than its parameter: the whole shapes are equal.
tgpt.parameter @local : tensor<8x12xf32, #dist.layout<[tp, -], of = [24, 12]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
// CHECK: tgpt.state gradient @local.gradient of @local : tensor<8x12xf32, #dist.layout<[tp, -], partial = [dp], of = [24, 12]>>
tgpt.state gradient @local.gradient of @local : tensor<8x12xf32, #dist.layout<[tp, -], partial = [dp], of = [24, 12]>>
// CHECK: tgpt.state moment1 @local.moment1 of @local : tensor<8x6xf32, #dist.layout<[tp, dp], of = [24, 12]>>
tgpt.state moment1 @local.moment1 of @local : tensor<8x6xf32, #dist.layout<[tp, dp], of = [24, 12]>>
