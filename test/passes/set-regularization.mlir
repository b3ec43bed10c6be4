// RUN: tgpt-opt %s --tgpt-set-regularization='seed=7 label-smoothing=0.25 z-loss=0.5' | FileCheck %s --check-prefix=ALL
// RUN: tgpt-opt %s --tgpt-set-regularization | FileCheck %s --check-prefix=NONE
// RUN: tgpt-opt %s --tgpt-set-regularization=seed=18446744073709551615 | FileCheck %s --check-prefix=LARGE

// Every dropout gets the seed, every loss the terms; terms of 0 leave what the model has.
// ALL: tgpt.dropout {{.*}}{probability = 1.000000e-01 : f64, seed = 7 : i64, stream = "a"}
// ALL: tgpt.dropout {{.*}}{probability = 1.000000e-01 : f64, seed = 7 : i64, stream = "b"}
// ALL: tgpt.cross_entropy {{.*}}{label_smoothing = 2.500000e-01 : f64, z_loss = 5.000000e-01 : f64}
// NONE: tgpt.dropout {{.*}}{probability = 1.000000e-01 : f64, stream = "a"}
// NONE: tgpt.cross_entropy {{.*}}{z_loss = 1.250000e-01 : f64}
// A seed has 64 bits.
// LARGE: tgpt.dropout {{.*}}{probability = 1.000000e-01 : f64, seed = -1 : i64, stream = "a"}
func.func @model(%x: tensor<4x6x8xf32>, %samples: tensor<4xi32>, %step: tensor<i32>, %labels: tensor<4x6xi32>) {
  %0 = tgpt.dropout %x, %samples, %step {probability = 0.1 : f64, stream = "a"} : (tensor<4x6x8xf32>, tensor<4xi32>, tensor<i32>) -> tensor<4x6x8xf32>
  %1 = tgpt.dropout %0, %samples, %step {probability = 0.1 : f64, stream = "b"} : (tensor<4x6x8xf32>, tensor<4xi32>, tensor<i32>) -> tensor<4x6x8xf32>
  %loss, %count, %lse = tgpt.cross_entropy %1, %labels {z_loss = 0.125 : f64} : (tensor<4x6x8xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}
