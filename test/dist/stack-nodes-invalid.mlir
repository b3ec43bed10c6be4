// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

dist.mesh @mesh (dp = 1, pp = 1, tp = 3)
func.func @stack_nodes_c1_whole(%a: tensor<4xf32, #dist.layout<[-], of = [4]>>) {
  // expected-error @+1 {{operand is not partial over "tp"}}
  %0 = dist.stack_nodes %a, %a over ["tp"] : tensor<4xf32, #dist.layout<[-], of = [4]>>, tensor<4xf32, #dist.layout<[-], of = [4]>> to tensor<2x4xf32, #dist.layout<[tp, -], of = [6, 4]>>
  return
}

// -----

dist.mesh @mesh (dp = 1, pp = 1, tp = 3)
func.func @stack_nodes_c1_types(%a: tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>, %b: tensor<5xf32, #dist.layout<[-], partial = [tp], of = [5]>>) {
  // expected-error @+1 {{operands differ in type}}
  %0 = dist.stack_nodes %a, %b over ["tp"] : tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>, tensor<5xf32, #dist.layout<[-], partial = [tp], of = [5]>> to tensor<2x4xf32, #dist.layout<[tp, -], of = [6, 4]>>
  return
}

// -----

dist.mesh @mesh (dp = 1, pp = 1, tp = 3)
func.func @stack_nodes_c2(%a: tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>) {
  // expected-error @+1 {{follows}}
  %0 = dist.stack_nodes %a, %a over ["tp"] : tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>, tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>> to tensor<2x4xf32, #dist.layout<[-, -], of = [2, 4]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, pp = 1, tp = 3)
func.func @stack_nodes_c1_order(%a: tensor<4xf32, #dist.layout<[-], partial = [dp, tp], of = [4]>>) {
  // expected-error @+1 {{adds in a tree over axes in another order than the mesh's: "tp", "dp"}}
  %0 = dist.stack_nodes %a, %a over ["tp", "dp"] : tensor<4xf32, #dist.layout<[-], partial = [dp, tp], of = [4]>>, tensor<4xf32, #dist.layout<[-], partial = [dp, tp], of = [4]>> to tensor<2x4xf32, #dist.layout<[{tp, dp}, -], of = [12, 4]>>
  return
}
