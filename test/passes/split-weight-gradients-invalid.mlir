// RUN: tgpt-opt %s --dist-split-weight-gradients -split-input-file -verify-diagnostics

// expected-error @below {{micro-batch has no segments to split; dist-split-stages makes them}}
module {
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    return
  }
}

// -----

module {
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    dist.segment backward stage 0 {
    }
    // expected-error @below {{is of kind 'weight_gradient' already}}
    dist.segment weight_gradient stage 0 {
    }
    return
  }
}

// -----

// Moving the wait away from its start would make it no wait.
!addends = tensor<4x8xf32, #dist.layout<[-, -], partial = [tp], of = [4, 8]>>
!sum = tensor<4x8xf32, #dist.layout<[-, -], of = [4, 8]>>
module {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 2)
  func.func @micro_batch(%x: !addends) attributes {tgpt.phase = "micro_batch"} {
    dist.segment backward stage 0 {
      %0 = dist.all_reduce sum %x over ["tp"] : !addends to !dist.pending<!sum>
      // expected-error @below {{waits in a backward that is to be split; dist-overlap-collectives comes after that}}
      %1 = dist.wait %0 : !dist.pending<!sum>
    }
    return
  }
}

// -----

// A read that is repeated later would read something else.
module {
  tgpt.state metric @sum : tensor<f32>
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    dist.segment backward stage 0 {
      // expected-error @below {{reads @sum, which its segment changes, so that it cannot be repeated later}}
      %0 = tgpt.read @sum : tensor<f32>
      // expected-note @below {{changed here}}
      tgpt.accumulate %0, @sum : tensor<f32>
    }
    return
  }
}
