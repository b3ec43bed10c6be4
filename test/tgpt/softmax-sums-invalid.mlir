// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @softmax_sums_c1_logits_rank(%logits: tensor<24x24xf32>, %labels: tensor<4x6xi32>, %max: tensor<4x6xf32>) {
  // expected-error @below {{C1: logits has rank 2, expected 3}}
  %0, %1 = tgpt.softmax_sums %logits, %labels, %max : (tensor<24x24xf32>, tensor<4x6xi32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
  return
}

// -----

func.func @softmax_sums_c1_result_rank(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>, %max: tensor<4x6xf32>) {
  // expected-error @below {{C1: sum_exp has rank 1, expected 2}}
  %0, %1 = tgpt.softmax_sums %logits, %labels, %max : (tensor<4x6x24xf32>, tensor<4x6xi32>, tensor<4x6xf32>) -> (tensor<4xf32>, tensor<4x6xf32>)
  return
}

// -----

func.func @softmax_sums_c2_shape(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>, %max: tensor<4x5xf32>) {
  // expected-error @below {{C2: maximum dim 1 is 5 but logits dim 1 is 6}}
  %0, %1 = tgpt.softmax_sums %logits, %labels, %max : (tensor<4x6x24xf32>, tensor<4x6xi32>, tensor<4x5xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
  return
}

// -----

func.func @softmax_sums_c3_type(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>, %max: tensor<4x6xf32>) {
  // expected-error @below {{C3: label_logit is 'f64' but logits is 'f32', which accumulates in 'f32'}}
  %0, %1 = tgpt.softmax_sums %logits, %labels, %max : (tensor<4x6x24xf32>, tensor<4x6xi32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf64>)
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// Ranks must subtract one maximum.
func.func @softmax_sums_partial_maximum(%logits: tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, %labels: tensor<4x6xi32, #dist.layout<[dp, -]>>, %max: tensor<4x6xf32, #dist.layout<[dp, -], partial = max [tp]>>) {
  // expected-error @below {{operand 2 is partial over "tp" but the op is not linear in it}}
  %0, %1 = tgpt.softmax_sums %logits, %labels, %max : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<4x6xf32, #dist.layout<[dp, -], partial = max [tp]>>) -> (tensor<4x6xf32, #dist.layout<[dp, -], partial = [tp]>>, tensor<4x6xf32, #dist.layout<[dp, -], partial = [tp]>>)
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @softmax_sums_missing_partial(%logits: tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, %labels: tensor<4x6xi32, #dist.layout<[dp, -]>>, %max: tensor<4x6xf32, #dist.layout<[dp, -]>>) {
  // expected-error @below {{result 1 must be partial over "tp"}}
  %0, %1 = tgpt.softmax_sums %logits, %labels, %max : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>) -> (tensor<4x6xf32, #dist.layout<[dp, -], partial = [tp]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>)
  return
}

// -----

// The columns of all ranks together: 24 are held here of 72.
dist.mesh @mesh (tp = 3)
!logits = tensor<4x6x24xf32, #dist.layout<[-, -, tp], of = [4, 6, 72]>>
!rows = tensor<4x6xf32, #dist.layout<[-, -], of = [4, 6]>>
!sums = tensor<4x6xf32, #dist.layout<[-, -], partial = [tp], of = [4, 6]>>
!labels = tensor<4x6xi32, #dist.layout<[-, -], of = [4, 6]>>
func.func @softmax_sums_c4_vocabulary(%logits: !logits, %labels: !labels, %max: !rows) {
  %0, %1 = tgpt.softmax_sums %logits, %labels, %max {vocabulary = 70 : i64} : (!logits, !labels, !rows) -> (!sums, !sums)
  // expected-error @below {{C4: vocabulary is 73, expected 1 to 72}}
  %2, %3 = tgpt.softmax_sums %logits, %labels, %max {vocabulary = 73 : i64} : (!logits, !labels, !rows) -> (!sums, !sums)
  return
}
