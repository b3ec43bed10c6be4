// RUN: tgpt-opt %s --zero-shard-optimizer -split-input-file -verify-diagnostics

// expected-error @+1 {{lacks a function of phase 'begin', 'micro_batch' or 'update'}}
module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @a.gradient of @a : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> {transient}
  func.func @begin() attributes {tgpt.phase = "begin"} { return }
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} { return }
}

// -----

// expected-error @+1 {{has no buckets of parameters and gradients, run zero-form-buckets first}}
module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @a.gradient of @a : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> {transient}
  func.func @begin() attributes {tgpt.phase = "begin"} { return }
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} { return }
  func.func @update() attributes {tgpt.phase = "update"} { return }
}

// -----

module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @a.gradient of @a : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> {transient}
  tgpt.bucket @zero.a.parameter of [@a] at [0] : tensor<4xf32, #dist.layout<[-], of = [4]>>
  tgpt.bucket @zero.a.gradient of [@a.gradient] at [0] : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>
  func.func @begin() attributes {tgpt.phase = "begin"} { return }
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} { return }
  // expected-error @+1 {{has 0 tgpt.clip_scale, expected one}}
  func.func @update() attributes {tgpt.phase = "update"} { return }
}

// -----

module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @a.gradient of @a : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> {transient}
  // expected-error @+1 {{parameter '@a' is not updated by a tgpt.adamw}}
  tgpt.bucket @zero.a.parameter of [@a] at [0] : tensor<4xf32, #dist.layout<[-], of = [4]>>
  tgpt.bucket @zero.a.gradient of [@a.gradient] at [0] : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>
  func.func @begin() attributes {tgpt.phase = "begin"} { return }
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} { return }
  func.func @update(%norm: tensor<f32, #dist.layout<[], of = []>>, %count: tensor<f32, #dist.layout<[], of = []>>) attributes {tgpt.phase = "update"} {
    %0:2 = tgpt.clip_scale %norm, %count {max_norm = 1.0 : f64} : (tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>) -> (tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>)
    return
  }
}
