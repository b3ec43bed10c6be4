// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @repeat_c1_count(%x: tensor<4xf32>) {
  // expected-error @below {{C1: count is 0, expected at least 1}}
  %0 = tgpt.repeat 0 (%h = %x) : tensor<4xf32> {
    tgpt.yield %h : tensor<4xf32>
  }
  return
}

// -----

func.func @repeat_c2_yielded_type(%x: tensor<4xf32>) {
  // expected-error @below {{C2: operands have types ('tensor<4xf32>') but yielded values ('tensor<4xf64>')}}
  %0 = tgpt.repeat 2 (%h = %x) : tensor<4xf32> {
    %1 = tgpt.cast %h : (tensor<4xf32>) -> tensor<4xf64>
    tgpt.yield %1 : tensor<4xf64>
  }
  return
}

// -----

func.func @repeat_c2_yielded_number(%x: tensor<4xf32>) {
  // expected-error @below {{C2: operands have types ('tensor<4xf32>') but yielded values ()}}
  %0 = tgpt.repeat 2 (%h = %x) : tensor<4xf32> {
    tgpt.yield
  }
  return
}

// -----

func.func @repeat_c2_block_argument(%x: tensor<4xf32>) {
  // expected-error @below {{C2: operands have types ('tensor<4xf32>') but block arguments ('tensor<6xf32>')}}
  %0 = "tgpt.repeat"(%x) <{count = 2 : i64}> ({
  ^bb0(%h: tensor<6xf32>):
    "tgpt.yield"(%x) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @repeat_c2_result(%x: tensor<4xf32>) {
  // expected-error @below {{C2: operands have types ('tensor<4xf32>') but results ('tensor<6xf32>')}}
  %0 = "tgpt.repeat"(%x) <{count = 2 : i64}> ({
  ^bb0(%h: tensor<4xf32>):
    "tgpt.yield"(%h) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @repeat_c2_no_yield(%x: tensor<4xf32>) {
  // expected-error @below {{C2: the block does not end in tgpt.yield}}
  %0 = tgpt.repeat 2 (%h = %x) : tensor<4xf32> {
    func.return
  }
  return
}

// -----

func.func @repeat_types_of_operands(%x: tensor<4xf32>) {
  // expected-error @below {{number of operands and types do not match}}
  %0 = tgpt.repeat 2 (%h = %x) : tensor<4xf32>, tensor<4xf32> {
    tgpt.yield %h : tensor<4xf32>
  }
  return
}
