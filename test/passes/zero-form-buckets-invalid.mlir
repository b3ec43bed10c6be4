// RUN: tgpt-opt %s --zero-form-buckets -split-input-file -verify-diagnostics

// No ranks to share with.
// expected-error @+1 {{mesh axis "dp" is 1: there are no ranks to share anything out to}}
module {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 2)
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} { return }
}

// -----

// expected-error @+1 {{has no dist.mesh}}
module {
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} { return }
}

// -----

// expected-error @+1 {{has no function of phase 'micro_batch'}}
module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
}

// -----

// expected-error @+1 {{has no gradient states, run tgpt-differentiate first}}
module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  func.func @begin() attributes {tgpt.phase = "begin"} { return }
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} { return }
}

// -----

// Nothing to reduce: every rank would have the same sum already.
module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  // expected-error @+1 {{gradient '@a.gradient' of type 'tensor<4xf32, #dist.layout<[-], of = [4]>>' is not a local type that is partial over "dp": there is no sum that ranks could share out}}
  tgpt.state gradient @a.gradient of @a : tensor<4xf32, #dist.layout<[-], of = [4]>> {transient}
  func.func @begin() attributes {tgpt.phase = "begin"} { return }
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} { return }
}

// -----

// What begin does to a gradient is lost in the bucket, so it may only clear it.
module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @a.gradient of @a : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> {transient}
  func.func @begin() attributes {tgpt.phase = "begin"} {
    %0 = tgpt.read @a.gradient : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>
    // expected-error @+1 {{gradient '@a.gradient' begins as something else than zeros}}
    tgpt.write %0, @a.gradient : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>
    return
  }
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} { return }
}
