// RUN: tgpt-opt %s --zero-reduce-buckets -split-input-file -verify-diagnostics

module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<3xf32, #dist.layout<[-], of = [3]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @a.gradient of @a : tensor<3xf32, #dist.layout<[-], partial = [dp], of = [3]>> {transient}
  // expected-error @+1 {{member '@a.gradient' is read 0 times in the update, expected once}}
  tgpt.bucket @bucket.a of [@a.gradient] at [0] : tensor<3xf32, #dist.layout<[-], partial = [dp], of = [3]>>
  func.func @update() attributes {tgpt.phase = "update"} { return }
}

// -----

// expected-error @+1 {{has no function of phase 'update'}}
module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
}

// -----

// Already summed in pieces: there is no sum to replace.
module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @a.gradient of @a : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> {transient}
  tgpt.bucket @bucket.a of [@a.gradient] at [0] : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>
  func.func @update() attributes {tgpt.phase = "update"} {
    // expected-error @+1 {{'@a.gradient' is not summed by an all_reduce}}
    %0 = tgpt.read @a.gradient : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>
    %1 = dist.reduce_scatter %0 dim 0 over ["dp"] : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> to tensor<2xf32, #dist.layout<[dp], of = [4]>>
    return
  }
}

// -----

// One sum in a tree, the other in the order of the ranks.
module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<3xf32, #dist.layout<[-], of = [3]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @b : tensor<2xf32, #dist.layout<[-], of = [2]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @a.gradient of @a : tensor<3xf32, #dist.layout<[-], partial = [dp], of = [3]>> {transient}
  tgpt.state gradient @b.gradient of @b : tensor<2xf32, #dist.layout<[-], partial = [dp], of = [2]>> {transient}
  tgpt.bucket @bucket.a of [@a.gradient, @b.gradient] at [0, 3] : tensor<5xf32, #dist.layout<[-], partial = [dp], of = [5]>>
  func.func @update() attributes {tgpt.phase = "update"} {
    %0 = tgpt.read @a.gradient : tensor<3xf32, #dist.layout<[-], partial = [dp], of = [3]>>
    %1 = dist.all_reduce sum %0 over ["dp"] tree : tensor<3xf32, #dist.layout<[-], partial = [dp], of = [3]>> to tensor<3xf32, #dist.layout<[-], of = [3]>>
    %2 = tgpt.read @b.gradient : tensor<2xf32, #dist.layout<[-], partial = [dp], of = [2]>>
    // expected-error @+1 {{'@b.gradient' is summed otherwise than '@a.gradient' of the same bucket}}
    %3 = dist.all_reduce sum %2 over ["dp"] : tensor<2xf32, #dist.layout<[-], partial = [dp], of = [2]>> to tensor<2xf32, #dist.layout<[-], of = [2]>>
    return
  }
}
