// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// Three query heads read three KV heads.
// CHECK-LABEL: @one_to_one
// CHECK: tgpt.attention %{{.+}}, %{{.+}}, %{{.+}} {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<?x6x12xf32>, tensor<?x6x12xf32>, tensor<?x6x12xf32>) -> (tensor<?x6x12xf32>, tensor<?x3x6xf32>)
func.func @one_to_one(%q: tensor<?x6x12xf32>, %k: tensor<?x6x12xf32>, %v: tensor<?x6x12xf32>) {
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<?x6x12xf32>, tensor<?x6x12xf32>, tensor<?x6x12xf32>) -> (tensor<?x6x12xf32>, tensor<?x3x6xf32>)
  return
}

// Six query heads read three KV heads.
// CHECK-LABEL: @grouped
// CHECK: tgpt.attention %{{.+}}, %{{.+}}, %{{.+}} {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xbf16>, tensor<4x6x12xbf16>, tensor<4x6x12xbf16>) -> (tensor<4x6x24xbf16>, tensor<4x6x6xf32>)
func.func @grouped(%q: tensor<4x6x24xbf16>, %k: tensor<4x6x12xbf16>, %v: tensor<4x6x12xbf16>) {
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xbf16>, tensor<4x6x12xbf16>, tensor<4x6x12xbf16>) -> (tensor<4x6x24xbf16>, tensor<4x6x6xf32>)
  return
}

// CHECK-LABEL: @not_causal
// CHECK: tgpt.attention %{{.+}}, %{{.+}}, %{{.+}} {causal = false, head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x12xf64>, tensor<4x6x12xf64>, tensor<4x6x12xf64>) -> (tensor<4x6x12xf64>, tensor<4x3x6xf64>)
func.func @not_causal(%q: tensor<4x6x12xf64>, %k: tensor<4x6x12xf64>, %v: tensor<4x6x12xf64>) {
  %0, %1 = tgpt.attention %q, %k, %v {causal = false, head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x12xf64>, tensor<4x6x12xf64>, tensor<4x6x12xf64>) -> (tensor<4x6x12xf64>, tensor<4x3x6xf64>)
  return
}

// Two query heads and their KV head a rank.
// CHECK-LABEL: @heads_sharded
// CHECK: tgpt.attention %{{.+}}, %{{.+}}, %{{.+}} {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>) -> (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x6xf32, #dist.layout<[dp, tp, -]>>)
func.func @heads_sharded(%q: tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, %k: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, %v: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>) {
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>) -> (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x6xf32, #dist.layout<[dp, tp, -]>>)
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @heads_sharded_local
// CHECK: tgpt.attention %{{.+}}, %{{.+}}, %{{.+}} {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>) -> (tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x2x6xf32, #dist.layout<[dp, tp, -], of = [4, 6, 6]>>)
func.func @heads_sharded_local(%q: tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, %k: tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, %v: tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>) {
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>) -> (tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x2x6xf32, #dist.layout<[dp, tp, -], of = [4, 6, 6]>>)
  return
}

// Sample numbers are sharded with the batch; heads are numbered in the whole tensor.
// CHECK-LABEL: @dropout
// CHECK: tgpt.attention %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} {dropout = 2.500000e-01 : f64, head_dim = 4 : i64, scale = 5.000000e-01 : f64, seed = 7 : i64, stream = "attn"} : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4xi32, #dist.layout<[dp]>>, tensor<i32, #dist.layout<[]>>) -> (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x6xf32, #dist.layout<[dp, tp, -]>>)
func.func @dropout(%q: tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, %k: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, %v: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, %samples: tensor<4xi32, #dist.layout<[dp]>>, %step: tensor<i32, #dist.layout<[]>>) {
  %0, %1 = tgpt.attention %q, %k, %v, %samples, %step {dropout = 2.500000e-01 : f64, head_dim = 4 : i64, scale = 5.000000e-01 : f64, seed = 7 : i64, stream = "attn"} : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4xi32, #dist.layout<[dp]>>, tensor<i32, #dist.layout<[]>>) -> (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x6xf32, #dist.layout<[dp, tp, -]>>)
  return
}
