// RUN: tgpt-opt %s --dist-propagate -split-input-file -verify-diagnostics

// expected-error @below {{the module has no dist.mesh, run tgpt-shard first}}
module {}

// -----

dist.mesh @mesh (tp = 2)
func.func @no_rule(%x: tensor<4x8xf32>) attributes {tgpt.phase = "micro_batch"} {
  // expected-error @below {{has no sharding rule, so its layout cannot be known}}
  %y = tgpt.repeat 1 (%h = %x) : tensor<4x8xf32> {
    tgpt.yield %h : tensor<4x8xf32>
  }
  return
}
