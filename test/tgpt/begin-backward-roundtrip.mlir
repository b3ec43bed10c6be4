// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

// CHECK-LABEL: @between_forward_and_backward
func.func @between_forward_and_backward() {
  // CHECK: tgpt.begin_backward
  tgpt.begin_backward
  return
}
