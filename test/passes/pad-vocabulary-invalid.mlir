// RUN: split-file %s %t
// RUN: tgpt-opt %t/multiple.mlir --tgpt-pad-vocabulary=multiple=0 -verify-diagnostics
// RUN: tgpt-opt %t/reader.mlir --tgpt-pad-vocabulary=multiple=4 -verify-diagnostics
// RUN: tgpt-opt %t/logits.mlir --tgpt-pad-vocabulary=multiple=4 -verify-diagnostics
// RUN: tgpt-opt %t/window.mlir --tgpt-pad-vocabulary=multiple=4 -verify-diagnostics
// RUN: tgpt-opt %t/ids.mlir --tgpt-pad-vocabulary=multiple=1048576 -verify-diagnostics

//--- multiple.mlir
// expected-error @below {{option 'multiple' is 0, expected at least 1}}
module {}

//--- reader.mlir
// expected-note @below {{declared here}}
tgpt.parameter @embed : tensor<10x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @loss(%tokens: tensor<4x6xi32>) {
  %table = tgpt.read @embed : tensor<10x8xf32>
  %x = tgpt.embedding %tokens, %table : (tensor<4x6xi32>, tensor<10x8xf32>) -> tensor<4x6x8xf32>
  // expected-error @below {{reads '@embed', whose 10 rows cannot be padded to a multiple of 4: it is neither an embedding nor a linear that makes logits}}
  %y = tgpt.linear %x, %table : (tensor<4x6x8xf32>, tensor<10x8xf32>) -> tensor<4x6x10xf32>
  %z = tgpt.gelu %y : (tensor<4x6x10xf32>) -> tensor<4x6x10xf32>
  return
}

//--- logits.mlir
func.func @loss(%x: tensor<4x6x10xf32>, %labels: tensor<4x6xi32>) {
  %logits = tgpt.gelu %x : (tensor<4x6x10xf32>) -> tensor<4x6x10xf32>
  // expected-error @below {{has logits of 10 columns, which 4 does not divide, and they are not made by a linear whose weight could be padded}}
  %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (tensor<4x6x10xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

//--- window.mlir
// expected-error @below {{is a window already, its rows cannot be padded}}
tgpt.parameter @embed : tensor<10x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> {window = #dist.window<"tables", shape = [20, 8], at = [10, 0]>}
func.func @loss(%tokens: tensor<4x6xi32>) {
  %table = tgpt.read @embed : tensor<10x8xf32>
  %x = tgpt.embedding %tokens, %table : (tensor<4x6xi32>, tensor<10x8xf32>) -> tensor<4x6x8xf32>
  return
}

//--- ids.mlir
// expected-error @below {{the vocabulary of 2147483647 padded to a multiple of 1048576 is 2147483648, but ids are i32}}
tgpt.parameter @embed : tensor<2147483647x1xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @loss(%tokens: tensor<4x6xi32>) {
  %table = tgpt.read @embed : tensor<2147483647x1xf32>
  %x = tgpt.embedding %tokens, %table : (tensor<4x6xi32>, tensor<2147483647x1xf32>) -> tensor<4x6x1xf32>
  return
}
