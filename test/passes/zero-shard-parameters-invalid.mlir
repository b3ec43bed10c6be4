// RUN: not tgpt-opt %s --zero-shard-parameters=prefetch=-1 -split-input-file 2>&1 | FileCheck %s
// CHECK: error: option 'prefetch' is -1, expected at least 0
// RUN: tgpt-opt %s --zero-shard-parameters -split-input-file -verify-diagnostics

module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @a.gradient of @a : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> {transient}
  tgpt.bucket @zero.a.parameter of [@a] at [0] : tensor<4xf32, #dist.layout<[-], of = [4]>>
  tgpt.bucket @zero.a.gradient of [@a.gradient] at [0] : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>
  func.func @begin() attributes {tgpt.phase = "begin"} { return }
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} { return }
  func.func @update() attributes {tgpt.phase = "update"} {
    %0 = tgpt.read @zero.a.parameter : tensor<4xf32, #dist.layout<[-], of = [4]>>
    // expected-error @+1 {{uses parameter bucket '@zero.a.parameter' otherwise than zero-shard-optimizer leaves it}}
    tgpt.write %0, @zero.a.parameter : tensor<4xf32, #dist.layout<[-], of = [4]>>
    return
  }
}

// -----

module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @a.gradient of @a : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> {transient}
  // expected-error @+1 {{bucket is cut into pieces already}}
  tgpt.bucket @zero.a.parameter of [@a] at [0] : tensor<2xf32, #dist.layout<[dp], of = [4]>>
  tgpt.bucket @zero.a.gradient of [@a.gradient] at [0] : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>
  func.func @begin() attributes {tgpt.phase = "begin"} { return }
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} { return }
  func.func @update() attributes {tgpt.phase = "update"} { return }
}
