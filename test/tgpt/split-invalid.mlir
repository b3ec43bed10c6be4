// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @split_c1_one_part(%x: tensor<4x6x12xf32>) {
  // expected-error @below {{C1: has 1 parts, expected at least 2}}
  %0 = tgpt.split %x {names = ["q"]} : (tensor<4x6x12xf32>) -> (tensor<4x6x12xf32>)
  return
}

// -----

func.func @split_c1_leading_dims(%x: tensor<4x6x12xf32>) {
  // expected-error @below {{C1: part dim 1 is 5 but input dim 1 is 6}}
  %0, %1 = tgpt.split %x {names = ["a", "b"]} : (tensor<4x6x12xf32>) -> (tensor<4x5x6xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @split_c1_rank(%x: tensor<4x6x12xf32>) {
  // expected-error @below {{C1: part has rank 2, expected 3}}
  %0, %1 = tgpt.split %x {names = ["a", "b"]} : (tensor<4x6x12xf32>) -> (tensor<4x6xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @split_c2_columns(%x: tensor<4x6x12xf32>) {
  // expected-error @below {{C2: the parts have 11 columns, the input 12}}
  %0, %1 = tgpt.split %x {names = ["a", "b"]} : (tensor<4x6x12xf32>) -> (tensor<4x6x6xf32>, tensor<4x6x5xf32>)
  return
}

// -----

func.func @split_c3_names(%x: tensor<4x6x12xf32>) {
  // expected-error @below {{C3: has 1 names for 2 parts}}
  %0, %1 = tgpt.split %x {names = ["a"]} : (tensor<4x6x12xf32>) -> (tensor<4x6x6xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @split_c3_same_name(%x: tensor<4x6x12xf32>) {
  // expected-error @below {{C3: name 'a' is not a word of letters, digits and '_', or is taken}}
  %0, %1 = tgpt.split %x {names = ["a", "a"]} : (tensor<4x6x12xf32>) -> (tensor<4x6x6xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @split_c3_no_word(%x: tensor<4x6x12xf32>) {
  // expected-error @below {{C3: name 'a.b' is not a word}}
  %0, %1 = tgpt.split %x {names = ["a.b", "c"]} : (tensor<4x6x12xf32>) -> (tensor<4x6x6xf32>, tensor<4x6x6xf32>)
  return
}
