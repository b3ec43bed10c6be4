// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

// A table has rows.
func.func @embedding_c1_table_rank(%ids: tensor<4x6xi32>, %table: tensor<12xf32>) {
  // expected-error @below {{C1: table has rank 1, expected 2}}
  %0 = tgpt.embedding %ids, %table : (tensor<4x6xi32>, tensor<12xf32>) -> tensor<4x6x12xf32>
  return
}

// -----

func.func @embedding_c1_output_rank(%ids: tensor<4x6xi32>, %table: tensor<24x12xf32>) {
  // expected-error @below {{C1: output has rank 2, expected 3}}
  %0 = tgpt.embedding %ids, %table : (tensor<4x6xi32>, tensor<24x12xf32>) -> tensor<24x12xf32>
  return
}

// -----

func.func @embedding_c2_batch(%ids: tensor<4x6xi32>, %table: tensor<24x12xf32>) {
  // expected-error @below {{C2: output dim 0 is 5 but ids dim 0 is 4}}
  %0 = tgpt.embedding %ids, %table : (tensor<4x6xi32>, tensor<24x12xf32>) -> tensor<5x6x12xf32>
  return
}

// -----

func.func @embedding_c2_width(%ids: tensor<4x6xi32>, %table: tensor<24x12xf32>) {
  // expected-error @below {{C2: output dim 2 is 10 but table dim 1 is 12}}
  %0 = tgpt.embedding %ids, %table : (tensor<4x6xi32>, tensor<24x12xf32>) -> tensor<4x6x10xf32>
  return
}

// -----

func.func @embedding_c3_element_type(%ids: tensor<4x6xi32>, %table: tensor<24x12xbf16>) {
  // expected-error @below {{C3: output is 'f32' but table is 'bf16'}}
  %0 = tgpt.embedding %ids, %table : (tensor<4x6xi32>, tensor<24x12xbf16>) -> tensor<4x6x12xf32>
  return
}

// -----

// Token ids are a matrix.
func.func @embedding_ids_rank(%ids: tensor<4x6x1xi32>, %table: tensor<24x12xf32>) {
  // expected-error @below {{operand #0 must be token tensor}}
  %0 = tgpt.embedding %ids, %table : (tensor<4x6x1xi32>, tensor<24x12xf32>) -> tensor<4x6x12xf32>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// A sharded vocabulary leaves sums to be taken.
func.func @embedding_missing_partial(%ids: tensor<4x6xi32, #dist.layout<[dp, -]>>, %table: tensor<24x12xf32, #dist.layout<[tp, -]>>) {
  // expected-error @below {{result 0 must be partial over "tp"}}
  %0 = tgpt.embedding %ids, %table : (tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<24x12xf32, #dist.layout<[tp, -]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>
  return
}

// -----

func.func @embedding_c4_vocabulary(%ids: tensor<4x6xi32>, %table: tensor<24x12xf32>) {
  // expected-error @below {{C4: vocabulary is 30, expected 1 to 24}}
  %0 = tgpt.embedding %ids, %table {vocabulary = 30 : i64} : (tensor<4x6xi32>, tensor<24x12xf32>) -> tensor<4x6x12xf32>
  return
}
