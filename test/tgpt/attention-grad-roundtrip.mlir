// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @grouped
// CHECK: tgpt.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xbf16>, tensor<4x6x24xbf16>, tensor<4x6x12xbf16>, tensor<4x6x12xbf16>, tensor<4x6x24xbf16>, tensor<4x6x6xf32>) -> (tensor<4x6x24xbf16>, tensor<4x6x12xbf16>, tensor<4x6x12xbf16>)
func.func @grouped(%do: tensor<4x6x24xbf16>, %q: tensor<4x6x24xbf16>, %k: tensor<4x6x12xbf16>, %v: tensor<4x6x12xbf16>, %o: tensor<4x6x24xbf16>, %lse: tensor<4x6x6xf32>) {
  %0, %1, %2 = tgpt.attention_grad %do, %q, %k, %v, %o, %lse {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xbf16>, tensor<4x6x24xbf16>, tensor<4x6x12xbf16>, tensor<4x6x12xbf16>, tensor<4x6x24xbf16>, tensor<4x6x6xf32>) -> (tensor<4x6x24xbf16>, tensor<4x6x12xbf16>, tensor<4x6x12xbf16>)
  return
}

// CHECK-LABEL: @not_causal
// CHECK: tgpt.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} {causal = false, head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xf32>, tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4x6x24xf32>, tensor<4x6x6xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>)
func.func @not_causal(%do: tensor<4x6x24xf32>, %q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>, %o: tensor<4x6x24xf32>, %lse: tensor<4x6x6xf32>) {
  %0, %1, %2 = tgpt.attention_grad %do, %q, %k, %v, %o, %lse {causal = false, head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xf32>, tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4x6x24xf32>, tensor<4x6x6xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>)
  return
}

// Two query heads and their KV head a rank.
// CHECK-LABEL: @heads_sharded
// CHECK: tgpt.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x6xf32, #dist.layout<[dp, tp, -]>>) -> (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>)
func.func @heads_sharded(%do: tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, %q: tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, %k: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, %v: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, %o: tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, %lse: tensor<4x6x6xf32, #dist.layout<[dp, tp, -]>>) {
  %0, %1, %2 = tgpt.attention_grad %do, %q, %k, %v, %o, %lse {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x6xf32, #dist.layout<[dp, tp, -]>>) -> (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>)
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @heads_sharded_local
// CHECK: tgpt.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x2x6xf32, #dist.layout<[dp, tp, -], of = [4, 6, 6]>>) -> (tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>)
func.func @heads_sharded_local(%do: tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, %q: tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, %k: tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, %v: tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, %o: tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, %lse: tensor<2x2x6xf32, #dist.layout<[dp, tp, -], of = [4, 6, 6]>>) {
  %0, %1, %2 = tgpt.attention_grad %do, %q, %k, %v, %o, %lse {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x2x6xf32, #dist.layout<[dp, tp, -], of = [4, 6, 6]>>) -> (tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>)
  return
}

// CHECK-LABEL: @dropout
// CHECK: tgpt.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} {dropout = 2.500000e-01 : f64, head_dim = 4 : i64, scale = 5.000000e-01 : f64, stream = "attn"} : (tensor<4x6x24xf32>, tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4x6x24xf32>, tensor<4x6x6xf32>, tensor<4xi32>, tensor<i32>) -> (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>)
func.func @dropout(%do: tensor<4x6x24xf32>, %q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>, %o: tensor<4x6x24xf32>, %lse: tensor<4x6x6xf32>, %samples: tensor<4xi32>, %step: tensor<i32>) {
  %0, %1, %2 = tgpt.attention_grad %do, %q, %k, %v, %o, %lse, %samples, %step {dropout = 2.500000e-01 : f64, head_dim = 4 : i64, scale = 5.000000e-01 : f64, stream = "attn"} : (tensor<4x6x24xf32>, tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4x6x24xf32>, tensor<4x6x6xf32>, tensor<4xi32>, tensor<i32>) -> (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>)
  return
}
