// RUN: tgpt-opt %s --dist-split-stages -split-input-file -verify-diagnostics

// expected-error @+1 {{module has no function with tgpt.phase "micro_batch"}}
module {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
}

// -----

// expected-error @+1 {{module has no dist.mesh}}
module {
  func.func @no_mesh() attributes {tgpt.phase = "micro_batch"} {
    tgpt.begin_backward
    return
  }
}

// -----

// expected-error @+1 {{module has no 'dist.stages' (array of i64: layers per stage) but mesh axis 'pp' is 2; dist-choose-stages writes it}}
module {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  func.func @no_decision() attributes {tgpt.phase = "micro_batch"} {
    tgpt.begin_backward
    return
  }
}

// -----

// expected-error @+1 {{'dist.stages': stages are given 3 layers but the model has 2}}
module attributes {dist.stages = array<i64: 2, 1>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  func.func @sum_differs(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.gelu %x {tgpt.layer = 2 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    tgpt.begin_backward
    return
  }
}

// -----

module attributes {dist.stages = array<i64: 1, 1>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  func.func @layer_out_of_range(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.gelu %x {tgpt.layer = 2 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    // expected-error @+1 {{'tgpt.layer' is -2; legal is -1 to 2}}
    %1 = tgpt.gelu %x {tgpt.layer = -2 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    tgpt.begin_backward
    return
  }
}

// -----

module attributes {dist.stages = array<i64: 1, 1>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  func.func @forward_against_the_pipeline(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    // expected-note @+1 {{computed here}}
    %0 = tgpt.gelu %x {tgpt.layer = 2 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    // expected-error @+1 {{in the forward, stage 0 uses a value of stage 1, against the direction of the pipeline}}
    %1 = tgpt.gelu %0 {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    tgpt.begin_backward
    return
  }
}

// -----

module attributes {dist.stages = array<i64: 1, 1>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  func.func @backward_against_the_pipeline(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    tgpt.begin_backward
    // expected-note @+1 {{computed here}}
    %0 = tgpt.gelu %x {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    // expected-error @+1 {{in the backward, stage 1 uses a value of stage 0, against the direction of the pipeline}}
    %1 = tgpt.gelu %0 {tgpt.layer = 2 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return
  }
}

// -----

module {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
  // expected-error @+1 {{the micro-batch has no tgpt.begin_backward; tgpt-differentiate writes it}}
  func.func @no_backward() attributes {tgpt.phase = "micro_batch"} {
    return
  }
}

// -----

module {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
  func.func @two_backwards() attributes {tgpt.phase = "micro_batch"} {
    tgpt.begin_backward
    // expected-error @+1 {{the backward begins twice}}
    tgpt.begin_backward
    return
  }
}

// -----

module {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
  // expected-error @+1 {{the micro-batch returns values; it may only add to states}}
  func.func @returns_a_value(%x: tensor<4x6xf32>) -> tensor<4x6xf32> attributes {tgpt.phase = "micro_batch"} {
    tgpt.begin_backward
    return %x : tensor<4x6xf32>
  }
}

// -----

module {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
  tgpt.state metric @seen : tensor<f32>
  func.func @stage_not_known(%x: tensor<f32>) attributes {tgpt.phase = "micro_batch"} {
    // expected-error @+1 {{op has no 'tgpt.layer' and no operand that has one, so its stage is not known}}
    tgpt.accumulate %x, @seen : tensor<f32>
    tgpt.begin_backward
    return
  }
}

// -----

module {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
  tgpt.state metric @seen : tensor<f32>
  func.func @reads_what_it_changes(%x: tensor<f32>) attributes {tgpt.phase = "micro_batch"} {
    // expected-error @+1 {{the micro-batch reads @seen, which it changes}}
    %0 = tgpt.read @seen : tensor<f32>
    // expected-note @+1 {{changed here}}
    tgpt.accumulate %x, @seen {tgpt.layer = 0 : i64} : tensor<f32>
    tgpt.begin_backward
    return
  }
}

// -----

module {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
  func.func @already_split() attributes {tgpt.phase = "micro_batch"} {
    // expected-error @+1 {{function is already split into stages}}
    dist.segment forward stage 0 {
    }
    return
  }
}

// -----

module attributes {dist.stages = array<i64: 1, 1>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  tgpt.parameter @w0 : tensor<5x6xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @w1 : tensor<5x6xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.read @w0 : tensor<5x6xf32>
    %1 = tgpt.linear %x, %0 {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<5x6xf32>) -> tensor<4x5xf32>
    %2 = tgpt.read @w1 : tensor<5x6xf32>
    %3 = tgpt.linear %x, %2 {tgpt.layer = 2 : i64} : (tensor<4x6xf32>, tensor<5x6xf32>) -> tensor<4x5xf32>
    tgpt.begin_backward
    return
  }
  func.func @tensor_of_another_stage() attributes {tgpt.phase = "update"} {
    // expected-error @+1 {{tensor of stage 0 is needed on stage 1; only scalars go between stages here}}
    %0 = tgpt.read @w0 : tensor<5x6xf32>
    tgpt.write %0, @w1 : tensor<5x6xf32>
    return
  }
}

// -----

module attributes {dist.stages = array<i64: 1, 1>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  tgpt.parameter @w0 : tensor<5x6xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @w1 : tensor<5x6xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.read @w0 : tensor<5x6xf32>
    %1 = tgpt.linear %x, %0 {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<5x6xf32>) -> tensor<4x5xf32>
    %2 = tgpt.read @w1 : tensor<5x6xf32>
    %3 = tgpt.linear %x, %2 {tgpt.layer = 2 : i64} : (tensor<4x6xf32>, tensor<5x6xf32>) -> tensor<4x5xf32>
    tgpt.begin_backward
    return
  }
  func.func @tensors_of_different_stages() attributes {tgpt.phase = "update"} {
    %0 = tgpt.read @w0 : tensor<5x6xf32>
    %1 = tgpt.read @w1 : tensor<5x6xf32>
    // expected-error @+1 {{op works on tensors that live on different stages}}
    %2 = tgpt.add %0, %1 : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>
    tgpt.write %2, @w1 : tensor<5x6xf32>
    return
  }
}

// -----

module {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
  func.func @not_unrolled(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    // expected-error @+1 {{op has a region, which cannot be cut; tgpt-unroll-layers writes out repeats}}
    %0 = tgpt.repeat 2 (%h = %x) : tensor<4x6xf32> {
      %1 = tgpt.gelu %h : (tensor<4x6xf32>) -> tensor<4x6xf32>
      tgpt.yield %1 : tensor<4x6xf32>
    }
    tgpt.begin_backward
    return
  }
}

// -----

module {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    tgpt.begin_backward
    return
  }
  func.func @marks_a_backward() attributes {tgpt.phase = "update"} {
    // expected-error @+1 {{op has no result and changes no state, so its stage is not known}}
    tgpt.begin_backward
    return
  }
}

// -----

// A bucket lives on the stage of all of its members.
module attributes {dist.stages = array<i64: 1, 1>} {
  dist.mesh @mesh (dp = 2, pp = 2, tp = 1)
  tgpt.state metric @first : tensor<4xf32, #dist.layout<[-], of = [4]>>
  tgpt.state metric @second : tensor<4xf32, #dist.layout<[-], of = [4]>>
  tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @b : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state moment1 @a.m of @a : tensor<4xf32, #dist.layout<[-], of = [4]>>
  tgpt.state moment1 @b.m of @b : tensor<4xf32, #dist.layout<[-], of = [4]>>
  // expected-error @+1 {{members @a.m and @b.m live on different stages}}
  tgpt.bucket @bucket of [@a.m, @b.m] at [0, 4] : tensor<8xf32, #dist.layout<[-], of = [8]>>
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.read @a {tgpt.layer = 0 : i64} : tensor<4xf32, #dist.layout<[-], of = [4]>>
    tgpt.accumulate %0, @first {tgpt.layer = 0 : i64} : tensor<4xf32, #dist.layout<[-], of = [4]>>
    %1 = tgpt.read @b {tgpt.layer = 1 : i64} : tensor<4xf32, #dist.layout<[-], of = [4]>>
    tgpt.accumulate %1, @second {tgpt.layer = 2 : i64} : tensor<4xf32, #dist.layout<[-], of = [4]>>
    tgpt.begin_backward
    return
  }
}
