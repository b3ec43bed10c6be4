// RUN: split-file %s %t
// RUN: tgpt-opt %t/smoothing.mlir --tgpt-set-regularization=label-smoothing=1 -verify-diagnostics
// RUN: tgpt-opt %t/z-loss.mlir --tgpt-set-regularization=z-loss=-0.5 -verify-diagnostics

//--- smoothing.mlir
// expected-error @below {{label-smoothing is 1, expected a value in [0, 1)}}
module {}

//--- z-loss.mlir
// expected-error @below {{z-loss is -0.5, expected a finite value of at least 0}}
module {}
