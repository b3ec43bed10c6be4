// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @loss_statistics_c1_logits_rank(%logits: tensor<24x24xf32>, %labels: tensor<4x6xi32>) {
  // expected-error @below {{C1: logits has rank 2, expected 3}}
  %0 = tgpt.loss_statistics %logits, %labels : (tensor<24x24xf32>, tensor<4x6xi32>) -> tensor<4x2x4x6xf32>
  return
}

// -----

func.func @loss_statistics_c1_result_rank(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>) {
  // expected-error @below {{C1: statistics has rank 3, expected 4}}
  %0 = tgpt.loss_statistics %logits, %labels : (tensor<4x6x24xf32>, tensor<4x6xi32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @loss_statistics_c2_labels(%logits: tensor<4x6x24xf32>, %labels: tensor<4x5xi32>) {
  // expected-error @below {{C2: labels dim 1 is 5 but logits dim 1 is 6}}
  %0 = tgpt.loss_statistics %logits, %labels : (tensor<4x6x24xf32>, tensor<4x5xi32>) -> tensor<4x2x4x5xf32>
  return
}

// -----

func.func @loss_statistics_c2_result(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>) {
  // expected-error @below {{C2: statistics dim 3 is 5 but labels dim 1 is 6}}
  %0 = tgpt.loss_statistics %logits, %labels : (tensor<4x6x24xf32>, tensor<4x6xi32>) -> tensor<4x2x4x5xf32>
  return
}

// -----

func.func @loss_statistics_c3_type(%logits: tensor<4x6x24xf64>, %labels: tensor<4x6xi32>) {
  // expected-error @below {{C3: statistics is 'f32' but logits is 'f64', which accumulates in 'f64'}}
  %0 = tgpt.loss_statistics %logits, %labels : (tensor<4x6x24xf64>, tensor<4x6xi32>) -> tensor<4x2x4x6xf32>
  return
}

// -----

// The columns of all ranks together: 24 are held here of 72.
dist.mesh @mesh (tp = 3)
!logits = tensor<4x6x24xf32, #dist.layout<[-, -, tp], of = [4, 6, 72]>>
!statistics = tensor<1x2x4x6xf32, #dist.layout<[tp, -, -, -], of = [3, 2, 4, 6]>>
!labels = tensor<4x6xi32, #dist.layout<[-, -], of = [4, 6]>>
func.func @loss_statistics_c4_vocabulary(%logits: !logits, %labels: !labels) {
  %0 = tgpt.loss_statistics %logits, %labels {vocabulary = 70 : i64} : (!logits, !labels) -> !statistics
  // expected-error @below {{C4: vocabulary is 73, expected 1 to 72}}
  %1 = tgpt.loss_statistics %logits, %labels {vocabulary = 73 : i64} : (!logits, !labels) -> !statistics
  return
}

// -----

func.func @loss_statistics_c5_parts(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>) {
  // expected-error @below {{C5: 24 columns are not 5 equal parts}}
  %0 = tgpt.loss_statistics %logits, %labels : (tensor<4x6x24xf32>, tensor<4x6xi32>) -> tensor<5x2x4x6xf32>
  return
}

// -----

func.func @loss_statistics_c5_statistics(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>) {
  // expected-error @below {{C5: statistics dim 1 is 4, expected 2 or 3}}
  %0 = tgpt.loss_statistics %logits, %labels : (tensor<4x6x24xf32>, tensor<4x6xi32>) -> tensor<4x4x4x6xf32>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// The logarithm of an addend is no addend: what a rank has of its columns is no part of a sum.
func.func @loss_statistics_partial(%logits: tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, %labels: tensor<4x6xi32, #dist.layout<[dp, -]>>) {
  // expected-error @below {{factor 'V' is sharded by "tp" in operand 0 but not in result 0}}
  %0 = tgpt.loss_statistics %logits, %labels : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6xi32, #dist.layout<[dp, -]>>) -> tensor<6x2x4x6xf32, #dist.layout<[-, -, dp, -], partial = [tp]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// Three ranks cannot have equal shares of four parts.
func.func @loss_statistics_parts_of_ranks(%logits: tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, %labels: tensor<4x6xi32, #dist.layout<[dp, -]>>) {
  // expected-error @below {{result 0 dim 0 has 4 elements but "tp" = 3 does not divide them; nearest legal number is 3}}
  %0 = tgpt.loss_statistics %logits, %labels : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6xi32, #dist.layout<[dp, -]>>) -> tensor<4x2x4x6xf32, #dist.layout<[tp, -, dp, -]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 2)
// A part's statistics stay together.
func.func @loss_statistics_sharded_statistics(%logits: tensor<4x6x24xf32, #dist.layout<[dp, -, -]>>, %labels: tensor<4x6xi32, #dist.layout<[dp, -]>>) {
  // expected-error @below {{factor 'k' must not be sharded but result 0 dim 1 is sharded by "tp"}}
  %0 = tgpt.loss_statistics %logits, %labels : (tensor<4x6x24xf32, #dist.layout<[dp, -, -]>>, tensor<4x6xi32, #dist.layout<[dp, -]>>) -> tensor<4x2x4x6xf32, #dist.layout<[-, tp, dp, -]>>
  return
}
