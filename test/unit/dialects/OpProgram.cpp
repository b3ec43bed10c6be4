//===- OpProgram.cpp - a program in which every op occurs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpProgram.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <stdexcept>

using namespace mlir;
using namespace tgpt::test;

static constexpr llvm::StringLiteral text = R"mlir(
!tokens = tensor<2x5xi32>
!x = tensor<2x5x24xf32>
!kv = tensor<2x5x12xf32>
!y = tensor<2x5x7xf32>
!row = tensor<2x5xf32>
!logits = tensor<2x5x11xf32>
!lse = tensor<2x6x5xf32>
!statistics = tensor<11x2x2x5xf32>
!smoothed = tensor<11x3x2x5xf32>
!w = tensor<7x24xf32>
!vector = tensor<24xf32>
!scalar = tensor<f32>
tgpt.state metric @total : tensor<2x5x24xf32>
func.func @every_op(%ids: !tokens, %table: tensor<11x24xf32>, %x: !x, %k: !kv, %w: !w, %b: tensor<7xf32>, %g: !vector,
                    %dy: !y, %row: !row, %logits: !logits, %s: !scalar, %lse: !lse, %positions: tensor<5x24xf32>,
                    %h: tensor<2x5x24xbf16>, %hw: tensor<7x24xbf16>, %samples: tensor<2xi32>, %step: tensor<i32>,
                    %c: tensor<4xf32>) {
  %0 = tgpt.embedding %ids, %table : (!tokens, tensor<11x24xf32>) -> !x
  %1 = tgpt.embedding_grad %ids, %x : (!tokens, !x) -> tensor<11x24xf32>
  %2 = tgpt.linear %x, %w : (!x, !w) -> !y
  %3 = tgpt.linear %x, %w, %b {label = "bias"} : (!x, !w, tensor<7xf32>) -> !y
  %4 = tgpt.linear %h, %hw {label = "wider"} : (tensor<2x5x24xbf16>, tensor<7x24xbf16>) -> !y
  %5 = tgpt.linear_dgrad %dy, %w : (!y, !w) -> !x
  %6 = tgpt.linear_wgrad %dy, %x : (!y, !x) -> !w
  %7 = tgpt.sum_leading %x : (!x) -> !vector
  %8:2 = tgpt.rms_norm %x, %g {epsilon = 1.0e-5 : f64} : (!x, !vector) -> (!x, !row)
  %9:2 = tgpt.rms_norm_grad %x, %x, %g, %row : (!x, !x, !vector, !row) -> (!x, !vector)
  %10:3 = tgpt.layer_norm %x, %g, %g {epsilon = 1.0e-5 : f64} : (!x, !vector, !vector) -> (!x, !row, !row)
  %11:3 = tgpt.layer_norm_grad %x, %x, %g, %row, %row : (!x, !x, !vector, !row, !row) -> (!x, !vector, !vector)
  %12 = tgpt.rope %x {head_dim = 4 : i64, theta = 1.0e4 : f64} : (!x) -> !x
  %13:2 = tgpt.attention %x, %k, %k {head_dim = 4 : i64, scale = 0.5 : f64} : (!x, !kv, !kv) -> (!x, !lse)
  %14:2 = tgpt.attention %x, %k, %k {head_dim = 4 : i64, scale = 0.5 : f64, causal = false, label = "full"} : (!x, !kv, !kv) -> (!x, !lse)
  %15:3 = tgpt.attention_grad %x, %x, %k, %k, %x, %lse {head_dim = 4 : i64, scale = 0.5 : f64} : (!x, !x, !kv, !kv, !x, !lse) -> (!x, !kv, !kv)
  %16 = tgpt.gelu %x : (!x) -> !x
  %17 = tgpt.gelu_grad %x, %x : (!x, !x) -> !x
  %18 = tgpt.swiglu %x, %x : (!x, !x) -> !x
  %19:2 = tgpt.swiglu_grad %x, %x, %x : (!x, !x, !x) -> (!x, !x)
  %20 = tgpt.add %x, %0 : (!x, !x) -> !x
  %21 = tgpt.add %x, %positions {label = "broadcast"} : (!x, tensor<5x24xf32>) -> !x
  %22 = tgpt.add_n %x, %x, %x : (!x, !x, !x) -> !x
  %23 = tgpt.cast %x : (!x) -> tensor<2x5x24xbf16>
  %24:3 = tgpt.cross_entropy %logits, %ids : (!logits, !tokens) -> (!scalar, !scalar, !row)
  %25 = tgpt.cross_entropy_grad %logits, %ids, %row, %s : (!logits, !tokens, !row, !scalar) -> !logits
  %26 = tgpt.loss_statistics %logits, %ids : (!logits, !tokens) -> !statistics
  %28:3 = tgpt.token_loss %ids, %26 : (!tokens, !statistics) -> (!scalar, !scalar, !row)
  %29 = tgpt.sum_squares %x : (!x) -> !scalar
  %30:2 = tgpt.clip_scale %s, %s {max_norm = 1.0 : f64} : (!scalar, !scalar) -> (!scalar, !scalar)
  %31 = tgpt.divide %s, %s : (!scalar, !scalar) -> !scalar
  %32:3 = tgpt.adamw %x, %x, %x, %x, %s, %s, %s {beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (!x, !x, !x, !x, !scalar, !scalar, !scalar) -> (!x, !x, !x)
  %34 = tgpt.dropout %x, %samples, %step {probability = 0.25 : f64, stream = "embed.dropout", seed = 7 : i64} : (!x, tensor<2xi32>, tensor<i32>) -> !x
  %35 = tgpt.head_norm %x, %c {epsilon = 1.0e-5 : f64} : (!x, tensor<4xf32>) -> !x
  %36:2 = tgpt.head_norm_grad %x, %x, %c {epsilon = 1.0e-5 : f64} : (!x, !x, tensor<4xf32>) -> (!x, tensor<4xf32>)
  %37 = tgpt.loss_statistics %logits, %ids {label = "smoothed"} : (!logits, !tokens) -> !smoothed
  %38:3 = tgpt.token_loss %ids, %37 {label_smoothing = 0.1 : f64, label = "smoothed"} : (!tokens, !smoothed) -> (!scalar, !scalar, !row)
  %39:4 = tgpt.adjust_loss_scale %s, %s, %s, %s, %s {backoff = 0.5 : f64, growth = 2.0 : f64, growth_interval = 2000 : i64} : (!scalar, !scalar, !scalar, !scalar, !scalar) -> (!scalar, !scalar, !scalar, !scalar)
  %40:2 = tgpt.clip_scale %s, %s, %s {max_norm = 1.0 : f64, label = "scaled"} : (!scalar, !scalar, !scalar) -> (!scalar, !scalar)
  %41 = tgpt.linear_dgrad_sum %dy, %dy, %w, %w : (!y, !y, !w, !w) -> !x
  %42 = tgpt.sum_positions %x : (!x) -> tensor<2x24xf32>
  %43:2 = tgpt.attention %x, %k, %k, %samples, %step {head_dim = 4 : i64, scale = 0.5 : f64, dropout = 0.25 : f64, stream = "attn", seed = 7 : i64, label = "dropout"} : (!x, !kv, !kv, tensor<2xi32>, tensor<i32>) -> (!x, !lse)
  %44:3 = tgpt.attention_grad %x, %x, %k, %k, %x, %lse, %samples, %step {head_dim = 4 : i64, scale = 0.5 : f64, dropout = 0.25 : f64, stream = "attn", seed = 7 : i64, label = "dropout"} : (!x, !x, !kv, !kv, !x, !lse, tensor<2xi32>, tensor<i32>) -> (!x, !kv, !kv)
  %45 = tgpt.join_nodes %x, %x addends 3 : (!x, !x) -> !x
  %46 = tgpt.sum_nodes %x {addends = 1 : i64, nodes = 1 : i64} : (!x) -> tensor<5x24xf32>
  %33 = tgpt.fill {value = 0.0 : f64} : () -> !x
  tgpt.accumulate %x, @total : !x
  return
}
)mlir";

OpProgram::OpProgram() {
  mlirContext.loadDialect<TgptDialect, func::FuncDialect>();
  parsed = parseSourceString<ModuleOp>(text, &mlirContext);
  if (!parsed)
    throw std::runtime_error("the program of all ops does not parse");
}

Operation *OpProgram::find(StringRef mnemonic, StringRef label) {
  Operation *found = nullptr;
  module()->walk([&](Operation *op) {
    auto name = op->getAttrOfType<StringAttr>("label");
    if (op->getName().getStringRef() == ("tgpt." + mnemonic).str() && (name ? name.getValue() : "") == label)
      found = op;
  });
  if (!found)
    throw std::runtime_error(("no tgpt." + mnemonic).str());
  return found;
}
