// RUN: tgpt-opt %s --plan-lower -split-input-file -verify-diagnostics

// expected-error @below {{has no dist.mesh}}
module {
}

// -----

// expected-error @below {{has no function of phase 'micro_batch'}}
module {
  dist.mesh @mesh (dp = 1)
}

// -----

// expected-error @below {{has no schedule for stage 1}}
module {
  dist.mesh @mesh (pp = 2)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    return
  }
}

// -----

module {
  dist.mesh @mesh (dp = 1)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    // expected-error @below {{is outside of the pipeline's segments; 'dist-split-stages' puts it into one}}
    %0 = tgpt.gelu %x : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

module {
  dist.mesh @mesh (dp = 1)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  // expected-error @below {{argument 0 has no 'tgpt.name'}}
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
      %0 = tgpt.gelu %x : (tensor<4xf32>) -> tensor<4xf32>
      dist.yield
    }
    return
  }
}

// -----

module {
  dist.mesh @mesh (dp = 1)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  func.func @micro_batch(%x: tensor<4xf32> {tgpt.name = "x"}) attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
      // expected-error @below {{cannot be executed: it has no kernel and is no collective}}
      tgpt.begin_backward
      dist.yield
    }
    return
  }
}

// -----

module {
  dist.mesh @mesh (dp = 1)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  func.func @micro_batch(%x: tensor<4xf32> {tgpt.name = "x"}) attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
      dist.yield
    }
    // expected-error @below {{is a second segment of kind 'forward' of stage 0}}
    dist.segment forward stage 0 {
      dist.yield
    }
    return
  }
}

// -----

module {
  dist.mesh @mesh (dp = 1)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  func.func @micro_batch(%x: tensor<4xf32> {tgpt.name = "x"}) attributes {tgpt.phase = "micro_batch"} {
    return
  }
  // expected-error @below {{result 0 has no 'tgpt.name'}}
  func.func @update() -> tensor<f32> attributes {tgpt.phase = "update"} {
    %0 = dist.segment update stage 0 {
      %1 = tgpt.fill {value = 1.0 : f64} : () -> tensor<f32>
      dist.yield %1 : tensor<f32>
    } : tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// A rank holds a piece of a bucket, and so no member of it.
module {
  dist.mesh @mesh (dp = 2, pp = 1)
  tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.bucket @bucket of [@a] at [0] : tensor<2xf32, #dist.layout<[dp], of = [4]>>
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
      // expected-error @below {{uses '@a', of which a rank holds a piece of bucket '@bucket' only}}
      %0 = tgpt.read @a : tensor<4xf32, #dist.layout<[-], of = [4]>>
    }
    return
  }
}

// -----

module {
  dist.mesh @mesh (dp = 2, pp = 1)
  tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.bucket @bucket of [@a] at [0] : tensor<4xf32, #dist.layout<[-], of = [4]>>
  // expected-error @below {{C1: @a is a member of '@bucket' too}}
  tgpt.bucket @other of [@a] at [0] : tensor<4xf32, #dist.layout<[-], of = [4]>>
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    return
  }
}

// -----

module {
  dist.mesh @mesh (pp = 1)
  // expected-error @below {{entry "W0@0" has no weight_gradient segment of stage 0}}
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0", "W0@0"] cool_down []
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
    }
    return
  }
}

// -----

module {
  dist.mesh @mesh (pp = 1)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    // expected-error @below {{of kind 'weight_gradient' of stage 0 has no entry in the stage's schedule}}
    dist.segment weight_gradient stage 0 {
    }
    return
  }
}

// -----

module {
  dist.mesh @mesh (pp = 1)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
    }
    // expected-error @below {{of kind 'forward' of stage 0 chunk 1 has no entry in the stage's schedule}}
    dist.segment forward stage 0 chunk 1 {
    }
    return
  }
}

// -----

module {
  dist.mesh @mesh (pp = 2)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  // expected-error @below {{is of 2 micro-batches but that of stage 0 of 1}}
  dist.schedule stage 1 of 2 slots [1] warm_up [] steady ["F0@0", "B0@0", "F1@0", "B1@0"] cool_down []
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    return
  }
}

// -----

module {
  dist.mesh @mesh (pp = 1)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0", "W0@0"] cool_down []
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    dist.segment weight_gradient stage 0 {
    }
    // expected-error @below {{of kind 'backward' of stage 0 comes behind its weight_gradient, which runs later}}
    dist.segment backward stage 0 {
    }
    return
  }
}

// -----

module {
  dist.mesh @mesh (pp = 1)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  // expected-error @below {{is a second schedule of stage 0}}
  dist.schedule stage 0 of 1 slots [1] warm_up ["F0@0"] steady [] cool_down ["B0@0"]
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    return
  }
}
