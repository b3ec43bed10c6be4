// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

// What passes read from any op and function must be what they expect.

func.func @layer_type(%x: tensor<4xf32>) {
  // expected-error @below {{"tgpt.layer" is "first", expected an i64}}
  %0 = tgpt.gelu %x {tgpt.layer = "first"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @layer_width(%x: tensor<4xf32>) {
  // expected-error @below {{"tgpt.layer" is 1 : i32, expected an i64}}
  %0 = tgpt.gelu %x {tgpt.layer = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @below {{"tgpt.phase" is "end", expected "begin", "micro_batch" or "update"}}
func.func @phase() attributes {tgpt.phase = "end"} {
  return
}

// -----

// expected-error @below {{"tgpt.name" is "", expected a string that is not empty}}
func.func @argument_name(%x: tensor<4xf32> {tgpt.name = ""}) {
  return
}

// -----

// expected-error @below {{"tgpt.name" is 3 : i64, expected a string that is not empty}}
func.func private @result_name() -> (tensor<4xf32> {tgpt.name = 3 : i64})

// -----

func.func @recompute(%x: tensor<4xf32>) {
  // expected-error @below {{"tgpt.recompute" is "yes", expected true or false}}
  %0 = tgpt.gelu %x {tgpt.recompute = "yes"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @recomputed(%x: tensor<4xf32>) {
  // expected-error @below {{"tgpt.recomputed" is false, expected no value}}
  %0 = tgpt.gelu %x {tgpt.recomputed = false} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @below {{"tgpt.reduction" is "any", expected "canonical"}}
module attributes {tgpt.reduction = "any"} {}

// -----

func.func @chunks_of_another_kind(%x: tensor<2x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{"tgpt.chunks" is 8 : i64, expected a #tgpt.chunks}}
  %y = tgpt.linear %x, %w {tgpt.chunks = 8 : i64} : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @chunks_of_no_sum(%x: tensor<2x8xf32>) {
  // expected-error @below {{but the op has no sum that is cut}}
  %y = tgpt.gelu %x {tgpt.chunks = #tgpt.chunks<count = 8, operand = 0, dim = 1>} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @chunks_of_no_dim(%x: tensor<2x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{"tgpt.chunks" names dim 2 of operand 1, but the op has there 2 dims}}
  %y = tgpt.linear %x, %w {tgpt.chunks = #tgpt.chunks<count = 8, operand = 1, dim = 2>} : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @chunks_of_no_operand(%x: tensor<2x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{"tgpt.chunks" names dim 0 of operand 2, but the op has 2 operands}}
  %y = tgpt.linear %x, %w {tgpt.chunks = #tgpt.chunks<count = 8, operand = 2, dim = 0>} : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @chunks_that_do_not_divide(%x: tensor<2x6xf32>, %w: tensor<4x6xf32>) {
  // expected-error @below {{cuts dim 1 of operand 0 into 4 chunks, but 6 of its 6 elements lie here: no whole number of chunks}}
  %y = tgpt.linear %x, %w {tgpt.chunks = #tgpt.chunks<count = 4, operand = 0, dim = 1>} : (tensor<2x6xf32>, tensor<4x6xf32>) -> tensor<2x4xf32>
  return
}

// -----

// A shard that ends within a chunk would add a part of it.
dist.mesh @mesh (tp = 4)
func.func @chunks_cut_by_a_shard(%x: tensor<2x2xf32, #dist.layout<[-, tp], of = [2, 8]>>, %w: tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 8]>>) {
  // expected-error @below {{into 2 chunks, but 2 of its 8 elements lie here: no whole number of chunks}}
  %y = tgpt.linear %x, %w {tgpt.chunks = #tgpt.chunks<count = 2, operand = 0, dim = 1>} : (tensor<2x2xf32, #dist.layout<[-, tp], of = [2, 8]>>, tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 8]>>) -> tensor<2x4xf32, #dist.layout<[-, -], partial = [tp], of = [2, 4]>>
  return
}

// -----

func.func @no_chunks(%x: tensor<2x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{count is 0, operand 0 and dim 1, expected a count of at least 1}}
  %y = tgpt.linear %x, %w {tgpt.chunks = #tgpt.chunks<count = 0, operand = 0, dim = 1>} : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @model_share(%x: tensor<4xf32>) {
  // expected-error @below {{"tgpt.model_share" is 1.500000e+00 : f64, expected an f64 above 0 and at most 1}}
  %0 = tgpt.gelu %x {tgpt.model_share = 1.5} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
