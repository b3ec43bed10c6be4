// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @join_nodes_c1_one(%a: tensor<6xf32>) {
  // expected-error @+1 {{C1: has 1 operands, expected 2 to 2 nodes of 3 addends}}
  %0 = tgpt.join_nodes %a addends 3 : (tensor<6xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @join_nodes_c1_many(%a: tensor<6xf32>) {
  // expected-error @+1 {{C1: has 3 operands, expected 2 to 2 nodes of 3 addends}}
  %0 = tgpt.join_nodes %a, %a, %a addends 3 : (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @join_nodes_c1_addends(%a: tensor<6xf32>) {
  // expected-error @+1 {{C1: has 0 addends, expected 1 to 65536}}
  %0 = tgpt.join_nodes %a, %a addends 0 : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @join_nodes_c2(%a: tensor<6xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{C2: operands and result differ in type}}
  %0 = tgpt.join_nodes %a, %b addends 3 : (tensor<6xf32>, tensor<5xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @sum_nodes_c1(%rows: tensor<4x6xf32>) {
  // expected-error @+1 {{C1}}
  %0 = tgpt.sum_nodes %rows {addends = 3, nodes = 2} : (tensor<4x6xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @sum_nodes_c2_rows(%rows: tensor<5x6xf32>) {
  // expected-error @+1 {{C2: has 2 nodes a rank, which do not divide the 5 rows}}
  %0 = tgpt.sum_nodes %rows {addends = 3, nodes = 2} : (tensor<5x6xf32>) -> tensor<6xf32>
  return
}

// -----

// Five addends of the second rank are 5, 6-7 and 8-9.
func.func @sum_nodes_c2_nodes(%rows: tensor<4x6xf32>) {
  // expected-error @+1 {{C2: has 2 nodes a rank, expected 3 of 5 addends on 2 ranks}}
  %0 = tgpt.sum_nodes %rows {addends = 5, nodes = 2} : (tensor<4x6xf32>) -> tensor<6xf32>
  return
}

// -----

tgpt.state metric @sum : tensor<f32> {transient}
tgpt.state metric @sum.carry.0 : tensor<f32> {transient}
func.func @accumulate_c2_carries(%x: tensor<f32>, %samples: tensor<2xi32>) {
  // expected-error @+1 {{C2: has 1 carries, expected 2 for 5 addends on each of 2 ranks}}
  tgpt.accumulate %x, @sum carry [@sum.carry.0] at %samples of 5 nodes_of 2 : tensor<f32>, tensor<2xi32>
  return
}

// -----

tgpt.state metric @sum : tensor<f32> {transient}
tgpt.state metric @sum.carry.0 : tensor<f32> {transient}
func.func @accumulate_c2_ranks(%x: tensor<f32>, %samples: tensor<2xi32>) {
  // expected-error @+1 {{C2: has 3 micro-batches of 1 parts on 0 ranks, expected 1 to 65536 parts and ranks}}
  tgpt.accumulate %x, @sum carry [@sum.carry.0] at %samples of 3 nodes_of 0 : tensor<f32>, tensor<2xi32>
  return
}

// -----

tgpt.state metric @sum : tensor<f32> {transient}
tgpt.state metric @sum.carry.0 : tensor<f32> {transient}
func.func @accumulate_c3_number(%x: tensor<f32>, %number: tensor<i32>) {
  // expected-error @+1 {{C3: tells micro-batches of nodes by the numbers of their samples}}
  tgpt.accumulate %x, @sum carry [@sum.carry.0] at %number of 3 nodes_of 2 : tensor<f32>, tensor<i32>
  return
}

// -----

tgpt.state metric @sum : tensor<f32> {transient}
tgpt.state metric @sum.carry.0 : tensor<f32> {transient}
func.func @accumulate_c3_part(%x: tensor<f32>, %samples: tensor<4xi32>) {
  // expected-error @+1 {{C3: is part 3 of 3 of 4 samples, expected one of parts that divide them}}
  tgpt.accumulate %x, @sum carry [@sum.carry.0] at %samples of 1 nodes_of 2 part 3 of 3 : tensor<f32>, tensor<4xi32>
  return
}

// -----

func.func @part_of_no_samples(%x: tensor<6x4x8xf32>, %w: tensor<5x8xf32>) {
  // expected-error @+1 {{"tgpt.part" is #tgpt.part<index = 0, count = 3>, but the op has no sum over samples}}
  %0 = tgpt.linear %x, %w {tgpt.part = #tgpt.part<index = 0, count = 3>} : (tensor<6x4x8xf32>, tensor<5x8xf32>) -> tensor<6x4x5xf32>
  return
}

// -----

func.func @part_does_not_divide(%dy: tensor<4x4x5xf32>, %x: tensor<4x4x8xf32>) {
  // expected-error @+1 {{"tgpt.part" has 3 parts, which do not divide the 4 samples}}
  %0 = tgpt.linear_wgrad %dy, %x {tgpt.part = #tgpt.part<index = 0, count = 3>} : (tensor<4x4x5xf32>, tensor<4x4x8xf32>) -> tensor<5x8xf32>
  return
}

// -----

func.func @node_without_chunks(%x: tensor<6x4x8xf32>, %w: tensor<5x8xf32>) {
  // expected-error @+1 {{"tgpt.node" is #tgpt.node<index = 0, axes = ["tp"]>, expected a #tgpt.node beside tgpt.chunks}}
  %0 = tgpt.linear %x, %w {tgpt.node = #tgpt.node<index = 0, axes = ["tp"]>} : (tensor<6x4x8xf32>, tensor<5x8xf32>) -> tensor<6x4x5xf32>
  return
}

// -----

// expected-error @+1 {{index is 3 of 3, expected at least 0 and below the count}}
func.func @part_index(%x: tensor<6xf32>) attributes {part = #tgpt.part<index = 3, count = 3>} { return }

// -----

// expected-error @+1 {{index is -1 and axes are ["tp"], expected an index of at least 0 and strings}}
func.func @node_index(%x: tensor<6xf32>) attributes {node = #tgpt.node<index = -1, axes = ["tp"]>} { return }
