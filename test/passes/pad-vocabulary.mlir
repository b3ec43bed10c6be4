// RUN: split-file %s %t
// RUN: tgpt-opt %t/tied.mlir --tgpt-pad-vocabulary=multiple=4 | FileCheck %s --check-prefix=TIED
// RUN: tgpt-opt %t/tied.mlir --tgpt-pad-vocabulary=multiple=4 --tgpt-pad-vocabulary=multiple=4 | FileCheck %s --check-prefix=TIED
// RUN: tgpt-opt %t/tied.mlir --tgpt-pad-vocabulary=multiple=4 --tgpt-differentiate | FileCheck %s --check-prefix=BACKWARD
// RUN: tgpt-opt %t/tied.mlir --tgpt-pad-vocabulary=multiple=4 --tgpt-split-loss | FileCheck %s --check-prefix=SPLIT
// RUN: tgpt-opt %t/tied.mlir --tgpt-pad-vocabulary=multiple=5 | FileCheck %s --check-prefix=KEPT
// RUN: tgpt-opt %t/untied.mlir --tgpt-pad-vocabulary=multiple=8 | FileCheck %s --check-prefix=UNTIED
// RUN: tgpt-opt %t/other-logits.mlir --tgpt-pad-vocabulary=multiple=5 -o /dev/null
// RUN: tgpt-opt %t/tied.mlir --tgpt-pad-vocabulary=multiple=4 --tgpt-pass-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=STATISTICS

// The table gets rows; who reads it learns how many are real, and the loss masks the logits of the others.
// TIED: tgpt.parameter @embed : tensor<12x8xf32> = <mean = 0.000000e+00, stddev = 2.000000e-02> {window = #dist.window<"embed", shape = [10, 8], at = [0, 0]>}
// TIED: %[[TABLE:.+]] = tgpt.read @embed : tensor<12x8xf32>
// TIED: tgpt.embedding %{{.+}}, %[[TABLE]] {vocabulary = 10 : i64} : (tensor<4x6xi32>, tensor<12x8xf32>)
// TIED: %[[LOGITS:.+]] = tgpt.linear %{{.+}}, %[[TABLE]] {tgpt.model_share = 0.83333333333333337 : f64} : {{.*}} -> tensor<4x6x12xf32>
// TIED: tgpt.cross_entropy %[[LOGITS]], %{{.+}} {vocabulary = 10 : i64}

// The backward masks too, and counts the same share of its operations.
// BACKWARD: tgpt.cross_entropy_grad {{.*}}vocabulary = 10 : i64
// BACKWARD: tgpt.linear_dgrad {{.*}}tgpt.model_share = 0.83333333333333337 : f64
// BACKWARD: tgpt.linear_wgrad {{.*}}tgpt.model_share = 0.83333333333333337 : f64
// BACKWARD-NOT: tgpt.embedding_grad {{.*}}model_share

// SPLIT: tgpt.loss_statistics {{.*}}vocabulary = 10 : i64

// KEPT: tgpt.parameter @embed : tensor<10x8xf32>
// KEPT-NOT: vocabulary
// KEPT-NOT: model_share

// Each table by itself.
// UNTIED: tgpt.parameter @embed : tensor<16x8xf32> {{.*}}shape = [9, 8]
// UNTIED: tgpt.parameter @head : tensor<16x8xf32> {{.*}}shape = [10, 8]
// UNTIED: tgpt.parameter @head.bias : tensor<16xf32> {{.*}} {no_decay, window = #dist.window<"head.bias", shape = [10], at = [0]>}
// UNTIED: tgpt.embedding {{.*}}vocabulary = 9 : i64
// UNTIED: tgpt.cross_entropy {{.*}}vocabulary = 10 : i64

// STATISTICS-DAG: 2 rows-added
// STATISTICS-DAG: 1 tables-padded

//--- tied.mlir
tgpt.parameter @embed : tensor<10x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @loss(%tokens: tensor<4x6xi32>, %labels: tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>) {
  %table = tgpt.read @embed : tensor<10x8xf32>
  %x = tgpt.embedding %tokens, %table : (tensor<4x6xi32>, tensor<10x8xf32>) -> tensor<4x6x8xf32>
  %logits = tgpt.linear %x, %table : (tensor<4x6x8xf32>, tensor<10x8xf32>) -> tensor<4x6x10xf32>
  %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (tensor<4x6x10xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return %loss, %count : tensor<f32>, tensor<f32>
}

//--- untied.mlir
tgpt.parameter @embed : tensor<9x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @head : tensor<10x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @head.bias : tensor<10xf32> = #tgpt.init<mean = 0.0, stddev = 0.0> {no_decay}
func.func @loss(%tokens: tensor<4x6xi32>, %labels: tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>) {
  %table = tgpt.read @embed : tensor<9x8xf32>
  %x = tgpt.embedding %tokens, %table : (tensor<4x6xi32>, tensor<9x8xf32>) -> tensor<4x6x8xf32>
  %head = tgpt.read @head : tensor<10x8xf32>
  %bias = tgpt.read @head.bias : tensor<10xf32>
  %logits = tgpt.linear %x, %head, %bias : (tensor<4x6x8xf32>, tensor<10x8xf32>, tensor<10xf32>) -> tensor<4x6x10xf32>
  %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (tensor<4x6x10xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return %loss, %count : tensor<f32>, tensor<f32>
}

//--- other-logits.mlir
func.func @loss(%x: tensor<4x6x10xf32>, %labels: tensor<4x6xi32>) {
  %logits = tgpt.gelu %x : (tensor<4x6x10xf32>) -> tensor<4x6x10xf32>
  %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (tensor<4x6x10xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}
