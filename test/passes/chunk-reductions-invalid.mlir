// RUN: tgpt-opt %s --dist-chunk-reductions -split-input-file -verify-diagnostics

// The positions of a weight gradient are added within a sample: no axis may share them out.
module attributes {tgpt.reduction = "canonical"} {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 2)
  func.func @positions(%dy: tensor<2x4x5xf32, #dist.layout<[-, tp, -]>>, %x: tensor<2x4x6xf32, #dist.layout<[-, tp, -]>>) {
    // expected-error @below {{adds up factor 'b', which "tp" shards, but its sum is not cut along it}}
    %0 = tgpt.linear_wgrad %dy, %x : (tensor<2x4x5xf32, #dist.layout<[-, tp, -]>>, tensor<2x4x6xf32, #dist.layout<[-, tp, -]>>) -> tensor<5x6xf32, #dist.layout<[-, -], partial = [tp]>>
    return
  }
}

// -----

// The fused loss adds over the tokens, whose samples dp shares out.
module attributes {tgpt.reduction = "canonical"} {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
  func.func @loss(%logits: tensor<2x4x6xf32, #dist.layout<[-, -, -]>>, %labels: tensor<2x4xi32, #dist.layout<[-, -]>>) {
    // expected-error @below {{adds up factor 'a' but does not say in which order}}
    %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (tensor<2x4x6xf32, #dist.layout<[-, -, -]>>, tensor<2x4xi32, #dist.layout<[-, -]>>) -> (tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>, tensor<2x4xf32, #dist.layout<[-, -]>>)
    return
  }
}

// -----

// Micro-batches must add what is whole on every rank but for dp.
module attributes {tgpt.reduction = "canonical"} {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 2)
  tgpt.state metric @sum : tensor<5xf32, #dist.layout<[-], partial = [tp]>>
  func.func @partial(%x: tensor<5xf32, #dist.layout<[-], partial = [tp]>>) {
    // expected-error @below {{adds over the micro-batches what is partial over "tp", so its bits would depend on the size of that axis}}
    tgpt.accumulate %x, @sum : tensor<5xf32, #dist.layout<[-], partial = [tp]>>
    return
  }
}

// -----

// One rank would add whole values: no sum of partial ones has their bits.
module attributes {tgpt.reduction = "canonical"} {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 2)
  func.func @sum_of_partial_sums(%a: tensor<f32, #dist.layout<[], partial = [tp]>>, %b: tensor<f32, #dist.layout<[], partial = [tp]>>) {
    // expected-error @below {{operand 0 is partial over "tp" but the op is not linear in it}}
    %0 = tgpt.add_n %a, %b : (tensor<f32, #dist.layout<[], partial = [tp]>>, tensor<f32, #dist.layout<[], partial = [tp]>>) -> tensor<f32, #dist.layout<[], partial = [tp]>>
    return
  }
}
