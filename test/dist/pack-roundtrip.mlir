// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, pp = 1, tp = 3)

// Sharded operands: a first dim with an entry a shard; the last five elements are zero.
// CHECK-LABEL: @sharded
func.func @sharded(%0: tensor<2x3xf32, #dist.layout<[tp, -], partial = [dp], of = [6, 3]>>,
                   %1: tensor<5x1xf32, #dist.layout<[-, tp], partial = [dp], of = [5, 3]>>) {
  // CHECK: dist.pack %{{.*}}, %{{.*}} at [0, 6] : tensor<2x3xf32, #dist.layout<[tp, -], partial = [dp], of = [6, 3]>>, tensor<5x1xf32, #dist.layout<[-, tp], partial = [dp], of = [5, 3]>> to tensor<1x16xf32, #dist.layout<[tp, -], partial = [dp], of = [3, 16]>>
  %2 = dist.pack %0, %1 at [0, 6] : tensor<2x3xf32, #dist.layout<[tp, -], partial = [dp], of = [6, 3]>>, tensor<5x1xf32, #dist.layout<[-, tp], partial = [dp], of = [5, 3]>> to tensor<1x16xf32, #dist.layout<[tp, -], partial = [dp], of = [3, 16]>>
  // CHECK: dist.unpack %{{.*}} at [0, 6] : tensor<1x16xf32, #dist.layout<[tp, -], partial = [dp], of = [3, 16]>> to tensor<2x3xf32, #dist.layout<[tp, -], partial = [dp], of = [6, 3]>>, tensor<5x1xf32, #dist.layout<[-, tp], partial = [dp], of = [5, 3]>>
  %3, %4 = dist.unpack %2 at [0, 6] : tensor<1x16xf32, #dist.layout<[tp, -], partial = [dp], of = [3, 16]>> to tensor<2x3xf32, #dist.layout<[tp, -], partial = [dp], of = [6, 3]>>, tensor<5x1xf32, #dist.layout<[-, tp], partial = [dp], of = [5, 3]>>
  return
}

// Whole operands: one dim.
// CHECK-LABEL: @whole
func.func @whole(%0: tensor<4xf32, #dist.layout<[-], of = [4]>>) {
  // CHECK: dist.pack %{{.*}} at [1] : tensor<4xf32, #dist.layout<[-], of = [4]>> to tensor<6xf32, #dist.layout<[-], of = [6]>>
  %1 = dist.pack %0 at [1] : tensor<4xf32, #dist.layout<[-], of = [4]>> to tensor<6xf32, #dist.layout<[-], of = [6]>>
  // CHECK: dist.unpack %{{.*}} at [1]
  %2 = dist.unpack %1 at [1] : tensor<6xf32, #dist.layout<[-], of = [6]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
  return
}
