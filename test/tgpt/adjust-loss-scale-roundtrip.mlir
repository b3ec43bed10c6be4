// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @plain
// CHECK: tgpt.adjust_loss_scale %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} {backoff = 5.000000e-01 : f64, growth = 2.000000e+00 : f64, growth_interval = 2000 : i64} : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
func.func @plain(%squares: tensor<f32>, %scale: tensor<f32>, %good: tensor<f32>, %skipped: tensor<f32>, %step: tensor<f32>) {
  %0:4 = tgpt.adjust_loss_scale %squares, %scale, %good, %skipped, %step {backoff = 0.5 : f64, growth = 2.0 : f64, growth_interval = 2000 : i64} : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// A fixed scale neither grows nor backs off.
// CHECK-LABEL: @fixed
// CHECK: tgpt.adjust_loss_scale {{.*}}{backoff = 1.000000e+00 : f64, growth = 1.000000e+00 : f64, growth_interval = 1 : i64} : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
func.func @fixed(%squares: tensor<f64>, %scale: tensor<f64>, %good: tensor<f64>, %skipped: tensor<f64>, %step: tensor<f64>) {
  %0:4 = tgpt.adjust_loss_scale %squares, %scale, %good, %skipped, %step {backoff = 1.0 : f64, growth = 1.0 : f64, growth_interval = 1 : i64} : (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
  return
}

// CHECK-LABEL: @replicated_local
// CHECK: tgpt.adjust_loss_scale {{.*}} -> (tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>)
!s = tensor<f32, #dist.layout<[], of = []>>
func.func @replicated_local(%squares: !s, %scale: !s, %good: !s, %skipped: !s, %step: !s) {
  %0:4 = tgpt.adjust_loss_scale %squares, %scale, %good, %skipped, %step {backoff = 0.5 : f64, growth = 2.0 : f64, growth_interval = 2000 : i64} : (!s, !s, !s, !s, !s) -> (!s, !s, !s, !s)
  return
}
