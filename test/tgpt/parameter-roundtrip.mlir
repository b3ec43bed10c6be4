// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)

// CHECK: tgpt.parameter @embed.weight : tensor<24x12xf32> = <mean = 0.000000e+00, stddev = 2.000000e-02>
tgpt.parameter @embed.weight : tensor<24x12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>

// CHECK: tgpt.parameter @"layers.*.norm.weight" : tensor<12xbf16> = <mean = 1.000000e+00, stddev = 0.000000e+00> per_layer 4 {no_decay}
tgpt.parameter @"layers.*.norm.weight" : tensor<12xbf16> = #tgpt.init<mean = 1.0, stddev = 0.0> per_layer 4 {no_decay}

// CHECK: tgpt.parameter @sharded : tensor<24x12xf64, #dist.layout<[tp, -]>>
tgpt.parameter @sharded : tensor<24x12xf64, #dist.layout<[tp, -]>> = #tgpt.init<mean = 0.0, stddev = 0.02>

// The shard of one rank.
// CHECK: tgpt.parameter @local : tensor<8x12xf64, #dist.layout<[tp, -], of = [24, 12]>>
tgpt.parameter @local : tensor<8x12xf64, #dist.layout<[tp, -], of = [24, 12]>> = #tgpt.init<mean = 0.0, stddev = 0.02>

// A part of a tensor that checkpoints know, and one with three rows more than it.
// CHECK: tgpt.parameter @k : tensor<16x64xf32> = <mean = 0.000000e+00, stddev = 2.000000e-02> {window = #dist.window<"qkv", shape = [96, 64], at = [64, 0]>}
// CHECK: tgpt.parameter @padded : tensor<260x64xf32> = <mean = 0.000000e+00, stddev = 2.000000e-02> {window = #dist.window<"padded", shape = [257, 64], at = [0, 0]>}
tgpt.parameter @k : tensor<16x64xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> {window = #dist.window<"qkv", shape = [96, 64], at = [64, 0]>}
tgpt.parameter @padded : tensor<260x64xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> {window = #dist.window<"padded", shape = [257, 64], at = [0, 0]>}
