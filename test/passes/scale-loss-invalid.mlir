// RUN: split-file %s %t
// RUN: tgpt-opt %t/initial.mlir --tgpt-scale-loss=initial=0 -verify-diagnostics
// RUN: tgpt-opt %t/growth.mlir --tgpt-scale-loss=growth=0.5 -verify-diagnostics
// RUN: tgpt-opt %t/backoff.mlir --tgpt-scale-loss=backoff=2 -verify-diagnostics
// RUN: tgpt-opt %t/interval.mlir --tgpt-scale-loss=growth-interval=0 -verify-diagnostics
// RUN: tgpt-opt %t/no-micro-batch.mlir --tgpt-scale-loss -verify-diagnostics
// RUN: tgpt-opt %t/no-update.mlir --tgpt-scale-loss -verify-diagnostics
// RUN: tgpt-opt %t/twice.mlir --tgpt-scale-loss -verify-diagnostics
// RUN: tgpt-opt %t/no-seed.mlir --tgpt-scale-loss -verify-diagnostics
// RUN: tgpt-opt %t/no-clip.mlir --tgpt-scale-loss -verify-diagnostics
// RUN: tgpt-opt %t/no-step.mlir --tgpt-scale-loss -verify-diagnostics
// RUN: tgpt-opt %t/range.mlir --tgpt-scale-loss=initial=1e100 -verify-diagnostics

//--- initial.mlir
// expected-error @below {{initial is 0, expected a finite value above 0}}
module {}

//--- growth.mlir
// expected-error @below {{growth is 0.5, expected a finite value of at least 1}}
module {}

//--- backoff.mlir
// expected-error @below {{backoff is 2, expected a value above 0 and at most 1}}
module {}

//--- interval.mlir
// expected-error @below {{growth-interval is 0, expected at least 1}}
module {}

//--- no-micro-batch.mlir
// expected-error @below {{no function '@micro_batch', run tgpt-differentiate first}}
module {}

//--- no-update.mlir
// expected-error @below {{no function '@update', run tgpt-add-optimizer first}}
module {
  func.func @micro_batch() {
    return
  }
}

//--- twice.mlir
module {
  // expected-error @below {{the module has a loss scale already}}
  tgpt.state scaling @skipped_steps : tensor<f32>
  func.func @micro_batch() {
    return
  }
  func.func @update() {
    return
  }
}

//--- no-seed.mlir
module {
  // expected-error @below {{the backward has 0 seeds (fills of 1), expected one}}
  func.func @micro_batch() {
    tgpt.begin_backward
    %half = tgpt.fill {value = 0.5 : f64} : () -> tensor<f32>
    return
  }
  func.func @update() {
    return
  }
}

//--- no-clip.mlir
module {
  func.func @micro_batch() {
    tgpt.begin_backward
    %seed = tgpt.fill {value = 1.0 : f64} : () -> tensor<f32>
    return
  }
  // expected-error @below {{the update has 0 tgpt.clip_scale, expected one}}
  func.func @update() {
    return
  }
}

//--- no-step.mlir
module {
  func.func @micro_batch() {
    tgpt.begin_backward
    %seed = tgpt.fill {value = 1.0 : f64} : () -> tensor<f32>
    return
  }
  // expected-error @below {{the update has no argument of the name 'step'}}
  func.func @update(%n: tensor<f32>, %step: tensor<f32>) {
    %norm, %scale = tgpt.clip_scale %n, %n {max_norm = 1.0 : f64} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    return
  }
}

//--- range.mlir
// expected-error @below {{initial is 1e+100, which is no normal number of 'f32'}}
module {
  func.func @micro_batch() {
    tgpt.begin_backward
    %seed = tgpt.fill {value = 1.0 : f64} : () -> tensor<f32>
    return
  }
  func.func @update(%n: tensor<f32>, %step: tensor<f32> {tgpt.name = "step"}) {
    %norm, %scale = tgpt.clip_scale %n, %n {max_norm = 1.0 : f64} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    return
  }
}
