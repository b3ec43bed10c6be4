// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// The batch is open; a seed of 0 is not printed.
// CHECK-LABEL: @dynamic_batch
// CHECK: tgpt.dropout %{{.+}}, %{{.+}}, %{{.+}} {probability = 1.000000e-01 : f64, stream = "embed.dropout"} : (tensor<?x6x12xf32>, tensor<?xi32>, tensor<i32>) -> tensor<?x6x12xf32>
func.func @dynamic_batch(%x: tensor<?x6x12xf32>, %samples: tensor<?xi32>, %step: tensor<i32>) {
  %0 = tgpt.dropout %x, %samples, %step {probability = 1.000000e-01 : f64, stream = "embed.dropout"} : (tensor<?x6x12xf32>, tensor<?xi32>, tensor<i32>) -> tensor<?x6x12xf32>
  return
}

// CHECK-LABEL: @seeded
// CHECK: tgpt.dropout %{{.+}}, %{{.+}}, %{{.+}} {probability = 1.000000e-01 : f64, seed = -7 : i64, stream = "embed.dropout"} : (tensor<4x6x12xbf16>, tensor<4xi32>, tensor<i32>) -> tensor<4x6x12xbf16>
func.func @seeded(%x: tensor<4x6x12xbf16>, %samples: tensor<4xi32>, %step: tensor<i32>) {
  %0 = tgpt.dropout %x, %samples, %step {probability = 1.000000e-01 : f64, seed = -7 : i64, stream = "embed.dropout"} : (tensor<4x6x12xbf16>, tensor<4xi32>, tensor<i32>) -> tensor<4x6x12xbf16>
  return
}

// Sequence parallel: each rank masks the positions it holds.
// CHECK-LABEL: @sequence_sharded
// CHECK: tgpt.dropout %{{.+}}, %{{.+}}, %{{.+}} {probability = 1.000000e-01 : f64, stream = "embed.dropout"} : (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<4xi32, #dist.layout<[dp]>>, tensor<i32, #dist.layout<[]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>
func.func @sequence_sharded(%x: tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, %samples: tensor<4xi32, #dist.layout<[dp]>>, %step: tensor<i32, #dist.layout<[]>>) {
  %0 = tgpt.dropout %x, %samples, %step {probability = 1.000000e-01 : f64, stream = "embed.dropout"} : (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<4xi32, #dist.layout<[dp]>>, tensor<i32, #dist.layout<[]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @sequence_sharded_local
// CHECK: tgpt.dropout %{{.+}}, %{{.+}}, %{{.+}} {probability = 1.000000e-01 : f64, stream = "embed.dropout"} : (tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, tensor<2xi32, #dist.layout<[dp], of = [4]>>, tensor<i32, #dist.layout<[], of = []>>) -> tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>
func.func @sequence_sharded_local(%x: tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, %samples: tensor<2xi32, #dist.layout<[dp], of = [4]>>, %step: tensor<i32, #dist.layout<[], of = []>>) {
  %0 = tgpt.dropout %x, %samples, %step {probability = 1.000000e-01 : f64, stream = "embed.dropout"} : (tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, tensor<2xi32, #dist.layout<[dp], of = [4]>>, tensor<i32, #dist.layout<[], of = []>>) -> tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>
  return
}

// One name for all layers inside a block.
// CHECK-LABEL: @layers
// CHECK: tgpt.dropout %{{.+}}, %{{.+}}, %{{.+}} {probability = 1.000000e-01 : f64, stream = "layers.*.mlp.dropout"}
func.func @layers(%x: tensor<4x6x12xf32>, %samples: tensor<4xi32>, %step: tensor<i32>) {
  %0 = tgpt.repeat 2 (%h = %x) : tensor<4x6x12xf32> {
    %1 = tgpt.dropout %h, %samples, %step {probability = 1.000000e-01 : f64, stream = "layers.*.mlp.dropout"} : (tensor<4x6x12xf32>, tensor<4xi32>, tensor<i32>) -> tensor<4x6x12xf32>
    tgpt.yield %1 : tensor<4x6x12xf32>
  }
  return
}
