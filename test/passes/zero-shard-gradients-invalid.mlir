// RUN: tgpt-opt %s --zero-shard-gradients -split-input-file -verify-diagnostics

module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @a.gradient of @a : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> {transient}
  tgpt.bucket @zero.a.parameter of [@a] at [0] : tensor<4xf32, #dist.layout<[-], of = [4]>>
  tgpt.bucket @zero.a.gradient of [@a.gradient] at [0] : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>
  func.func @begin() attributes {tgpt.phase = "begin"} { return }
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} { return }
  func.func @update() attributes {tgpt.phase = "update"} {
    %0 = tgpt.read @zero.a.gradient : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>
    // expected-error @+1 {{uses gradient bucket '@zero.a.gradient' otherwise than zero-shard-optimizer leaves it}}
    %1 = dist.all_reduce sum %0 over ["dp"] : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
    return
  }
}

// -----

module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @a.gradient of @a : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> {transient}
  tgpt.bucket @zero.a.parameter of [@a] at [0] : tensor<4xf32, #dist.layout<[-], of = [4]>>
  // expected-error @+1 {{bucket is cut into pieces already}}
  tgpt.bucket @zero.a.gradient of [@a.gradient] at [0] : tensor<2xf32, #dist.layout<[dp], of = [4]>>
  func.func @begin() attributes {tgpt.phase = "begin"} { return }
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} { return }
  func.func @update() attributes {tgpt.phase = "update"} { return }
}

// -----

// Three micro-batches in a tree: two of a rank are added before any of another.
module attributes {tgpt.reduction = "canonical"} {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @a.gradient of @a : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> {transient}
  tgpt.state gradient @a.gradient.carry.0 of @a : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> {transient}
  tgpt.bucket @zero.a.parameter of [@a] at [0] : tensor<4xf32, #dist.layout<[-], of = [4]>>
  tgpt.bucket @zero.a.gradient of [@a.gradient] at [0] : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>
  func.func @begin() attributes {tgpt.phase = "begin"} { return }
  func.func @micro_batch(%i: tensor<i32, #dist.layout<[], of = []>>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.fill {value = 0.0 : f64} : () -> tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>
    // expected-error @+1 {{adds up micro-batches in a tree, in which they come before the sum over "dp", so whole gradients are kept: leave this pass out}}
    tgpt.accumulate %0, @a.gradient carry [@a.gradient.carry.0] at %i of 3 : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>, tensor<i32, #dist.layout<[], of = []>>
    return
  }
  func.func @update() attributes {tgpt.phase = "update"} { return }
}
