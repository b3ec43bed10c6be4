// RUN: split-file %s %t
// RUN: tgpt-opt %t/samples.mlir --tgpt-specialize-batch=samples=0 -verify-diagnostics
// RUN: tgpt-opt %t/dtype.mlir --tgpt-specialize-batch=dtype=f8 -verify-diagnostics
// RUN: tgpt-opt %t/open.mlir --tgpt-specialize-batch=samples=2 -verify-diagnostics

//--- samples.mlir
// expected-error @below {{the micro-batch has 0 samples, expected at least 1}}
module {}

//--- dtype.mlir
// expected-error @below {{unknown dtype 'f8', expected f64, f32, bf16 or f16}}
module {}

//--- open.mlir
// Only the batch is open: a sequence of unknown length cannot be planned.
func.func @two_open_dims(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  // expected-error @below {{only the first dim may be open (`?`), but the type is 'tensor<?x?x8xf32>'}}
  %y = tgpt.gelu %x : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}
