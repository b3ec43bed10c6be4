// RUN: tgpt-opt %s --tgpt-recompute -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --tgpt-recompute --cse -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --tgpt-recompute --canonicalize -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --tgpt-recompute -split-input-file -o %t.once
// RUN: tgpt-opt %t.once --tgpt-recompute -split-input-file | diff %t.once -
// RUN: tgpt-opt %s --tgpt-recompute --remarks-filter=tgpt-recompute --remark-format=emitRemark -split-input-file -o %t.out 2>&1 | FileCheck %s --check-prefix=REMARK

// A chain of three, all marked: the clones of what the first use needs stand before it, in order, made from each
// other and from what is kept (%x). Later uses read the same clones. Equal ops are not merged with them again.
// CHECK-LABEL: func.func @chain_is_cloned
// CHECK-SAME: (%[[X:.+]]: tensor<4x6xf32>)
func.func @chain_is_cloned(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
  // CHECK: %[[A:.+]] = tgpt.gelu %[[X]] {tgpt.layer = 0 : i64} :
  // CHECK: %[[B:.+]] = tgpt.gelu %[[A]] {tgpt.layer = 0 : i64} :
  // CHECK: %[[C:.+]] = tgpt.gelu %[[B]] {tgpt.layer = 0 : i64} :
  %a = tgpt.gelu %x {tgpt.layer = 0 : i64, tgpt.recompute = true} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = tgpt.gelu %a {tgpt.layer = 0 : i64, tgpt.recompute = true} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = tgpt.gelu %b {tgpt.layer = 0 : i64, tgpt.recompute = true} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: tgpt.begin_backward
  tgpt.begin_backward
  // CHECK-NEXT: %[[A1:.+]] = tgpt.gelu %[[X]] {tgpt.layer = 0 : i64, tgpt.recomputed} :
  // CHECK-NEXT: %[[B1:.+]] = tgpt.gelu %[[A1]] {tgpt.layer = 0 : i64, tgpt.recomputed} :
  // CHECK-NEXT: %[[D:.+]] = tgpt.gelu_grad %[[X]], %[[B1]]
  // CHECK-NEXT: %[[E:.+]] = tgpt.gelu_grad %[[D]], %[[A1]]
  // CHECK-NEXT: tgpt.accumulate %[[E]], @g
  %d = tgpt.gelu_grad %x, %b {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %e = tgpt.gelu_grad %d, %a {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  tgpt.accumulate %e, @g : tensor<4x6xf32>
  tgpt.accumulate %c, @h : tensor<4x6xf32>
  return
}
tgpt.state metric @g : tensor<4x6xf32> {transient}
tgpt.state metric @h : tensor<4x6xf32> {transient}
// %a and %b are computed again; the use of %c has no layer, so it is not that of layer 0's backward.
// REMARK: remark: [Analysis] micro-batch | Category:tgpt-recompute | bytesFreed=192, flopsRepeated=432, opsCloned=2, opsUnneeded=1

// -----

// A clone stands where its own first use is, not where the layer's backward begins; what is not marked is kept, and
// parameters are read from where they were.
// CHECK-LABEL: func.func @clones_are_made_late
// CHECK-SAME: (%[[X:.+]]: tensor<4x6x8xf32>)
tgpt.parameter @w : tensor<8x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.state gradient @w.gradient of @w : tensor<8x8xf32> {transient}
func.func @clones_are_made_late(%x: tensor<4x6x8xf32>) attributes {tgpt.phase = "micro_batch"} {
  // CHECK: %[[W:.+]] = tgpt.read @w
  %w = tgpt.read @w {tgpt.layer = 0 : i64} : tensor<8x8xf32>
  %a = tgpt.gelu %x {tgpt.layer = 0 : i64, tgpt.recompute = true} : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  // CHECK: %[[Y:.+]] = tgpt.linear
  %y = tgpt.linear %a, %w {tgpt.layer = 0 : i64, tgpt.recompute = false} : (tensor<4x6x8xf32>, tensor<8x8xf32>) -> tensor<4x6x8xf32>
  %b = tgpt.gelu %y {tgpt.layer = 0 : i64, tgpt.recompute = true} : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  // CHECK: tgpt.begin_backward
  tgpt.begin_backward
  // CHECK-NEXT: %[[B1:.+]] = tgpt.gelu %[[Y]] {tgpt.layer = 0 : i64, tgpt.recomputed}
  // CHECK-NEXT: %[[DB:.+]] = tgpt.linear_wgrad %[[X]], %[[B1]]
  // CHECK-NEXT: tgpt.accumulate %[[DB]]
  // CHECK-NEXT: %[[DY:.+]] = tgpt.gelu_grad %[[X]], %[[Y]]
  // CHECK-NEXT: %[[A1:.+]] = tgpt.gelu %[[X]] {tgpt.layer = 0 : i64, tgpt.recomputed}
  // CHECK-NEXT: %[[DA:.+]] = tgpt.linear_wgrad %[[DY]], %[[A1]]
  // CHECK-NEXT: tgpt.accumulate %[[DA]]
  %db = tgpt.linear_wgrad %x, %b {tgpt.layer = 0 : i64} : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<8x8xf32>
  tgpt.accumulate %db, @w.gradient : tensor<8x8xf32>
  %dy = tgpt.gelu_grad %x, %y {tgpt.layer = 0 : i64} : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %da = tgpt.linear_wgrad %dy, %a {tgpt.layer = 0 : i64} : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<8x8xf32>
  tgpt.accumulate %da, @w.gradient : tensor<8x8xf32>
  return
}

// -----

// What crosses layers is kept, marked or not: layer 1 recomputes from %a, it does not recompute %a. All results of a
// clone take the place of the original's.
// CHECK-LABEL: func.func @layers_keep_their_input
// CHECK-SAME: (%[[X:.+]]: tensor<4x6xf32>, %[[W:.+]]: tensor<6xf32>)
tgpt.state metric @g : tensor<4x6xf32> {transient}
func.func @layers_keep_their_input(%x: tensor<4x6xf32>, %w: tensor<6xf32>) attributes {tgpt.phase = "micro_batch"} {
  // CHECK: %[[A:.+]] = tgpt.gelu %[[X]]
  %a = tgpt.gelu %x {tgpt.layer = 0 : i64, tgpt.recompute = true} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %n, %rstd = tgpt.rms_norm %a, %w {epsilon = 1.0e-5 : f64, tgpt.layer = 1 : i64, tgpt.recompute = true} : (tensor<4x6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>)
  // CHECK: tgpt.begin_backward
  tgpt.begin_backward
  // CHECK-NEXT: %[[N1:.+]]:2 = tgpt.rms_norm %[[A]], %[[W]] {epsilon = {{.+}} : f64, tgpt.layer = 1 : i64, tgpt.recomputed}
  // CHECK-NEXT: %[[D:.+]] = tgpt.gelu_grad %[[X]], %[[N1]]#0
  // CHECK-NEXT: %[[E:.+]]:2 = tgpt.rms_norm_grad %[[D]], %[[A]], %[[W]], %[[N1]]#1
  // CHECK-NEXT: tgpt.accumulate %[[E]]#0
  %d = tgpt.gelu_grad %x, %n {tgpt.layer = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %e:2 = tgpt.rms_norm_grad %d, %a, %w, %rstd {tgpt.layer = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<6xf32>, tensor<4xf32>) -> (tensor<4x6xf32>, tensor<6xf32>)
  tgpt.accumulate %e#0, @g : tensor<4x6xf32>
  return
}
