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
