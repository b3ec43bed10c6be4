// RUN: tgpt-opt %s --tgpt-specialize-batch='samples=4 dtype=bf16' | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: tgpt-opt %s --tgpt-specialize-batch='samples=4 dtype=f64' | FileCheck %s --check-prefixes=CHECK,F64
// RUN: tgpt-opt %s --tgpt-specialize-batch | FileCheck %s --check-prefix=DEFAULT
// RUN: tgpt-opt %s --tgpt-specialize-batch='samples=4 dtype=bf16' > %t.once
// RUN: tgpt-opt %t.once --tgpt-specialize-batch='samples=4 dtype=bf16' | diff %t.once -

// The open batch becomes 4 everywhere, the repeated block included. Activations and
// parameters get the compute dtype; statistics, loss and count keep at least f32.
// BF16: tgpt.parameter @norm.weight : tensor<8xbf16>
// F64: tgpt.parameter @norm.weight : tensor<8xf64>
// CHECK-NOT: tensor<?
// BF16: func.func @loss(%{{.+}}: tensor<4x6x8xbf16>, %{{.+}}: tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>)
// F64: func.func @loss(%{{.+}}: tensor<4x6x8xf64>, %{{.+}}: tensor<4x6xi32>) -> (tensor<f64>, tensor<f64>)
// CHECK-NOT: tensor<?
// BF16: tgpt.repeat 2 {{.*}} : tensor<4x6x8xbf16> {
// BF16: tgpt.rms_norm {{.*}} -> (tensor<4x6x8xbf16>, tensor<4x6xf32>)
// F64: tgpt.rms_norm {{.*}} -> (tensor<4x6x8xf64>, tensor<4x6xf64>)
// CHECK-NOT: tensor<?
// BF16: tgpt.cross_entropy {{.*}} -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
// F64: tgpt.cross_entropy {{.*}} -> (tensor<f64>, tensor<f64>, tensor<4x6xf64>)
// CHECK-NOT: tensor<?

// By default one sample, in f32.
// DEFAULT: func.func @loss(%{{.+}}: tensor<1x6x8xf32>, %{{.+}}: tensor<1x6xi32>)
tgpt.parameter @norm.weight : tensor<8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0>
tgpt.parameter @head.weight : tensor<10x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @loss(%x: tensor<?x6x8xf32>, %labels: tensor<?x6xi32>) -> (tensor<f32>, tensor<f32>) {
  %w = tgpt.read @norm.weight : tensor<8xf32>
  %y = tgpt.repeat 2 (%h = %x) : tensor<?x6x8xf32> {
    %n, %rstd = tgpt.rms_norm %h, %w {epsilon = 1.0e-5 : f64} : (tensor<?x6x8xf32>, tensor<8xf32>) -> (tensor<?x6x8xf32>, tensor<?x6xf32>)
    tgpt.yield %n : tensor<?x6x8xf32>
  }
  %head = tgpt.read @head.weight : tensor<10x8xf32>
  %logits = tgpt.linear %y, %head : (tensor<?x6x8xf32>, tensor<10x8xf32>) -> tensor<?x6x10xf32>
  %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (tensor<?x6x10xf32>, tensor<?x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<?x6xf32>)
  return %loss, %count : tensor<f32>, tensor<f32>
}
