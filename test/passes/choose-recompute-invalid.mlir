// RUN: split-file %s %t
// RUN: tgpt-opt %t/no-function.mlir --tgpt-choose-recompute=mode=full -verify-diagnostics
// RUN: tgpt-opt %t/no-backward.mlir --tgpt-choose-recompute=mode=full -verify-diagnostics
// RUN: tgpt-opt %t/negative.mlir --tgpt-choose-recompute='mode=selective flops-per-byte=-1' -verify-diagnostics
// RUN: not tgpt-opt %t/negative.mlir --tgpt-choose-recompute=mode=some 2>&1 | FileCheck %s

// CHECK: Cannot find option named 'some'

//--- no-function.mlir
// expected-error @below {{module has no function of one block with tgpt.phase "micro_batch"; tgpt-differentiate writes it}}
module {
}

//--- no-backward.mlir
// expected-error @below {{the micro-batch has no tgpt.begin_backward; tgpt-differentiate writes it}}
func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
  return
}

//--- negative.mlir
// expected-error @below {{option 'flops-per-byte' is -1.000000e+00, expected at least 0}}
module {
}
