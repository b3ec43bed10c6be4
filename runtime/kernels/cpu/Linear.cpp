//===- Linear.cpp - linear layers and their gradients -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// linear:       y[rows,n]  = x[rows,k] w[n,k]^T + bias[n]
// linear_dgrad: dx[rows,k] = dy[rows,n] w[n,k]
// linear_wgrad: dw[n,k]    = or += dy[rows,n]^T x[rows,k]
// linear_dgrad_sum: dx[rows,k] = sum over i of dy_i[rows,n_i] w_i[n_i,k], one chunk
//               after the other: a chunk has its part of every n_i.
// With attribute `chunks` the contracted dim is added up in so many chunks and these
// in a tree (api/SumTree.h), whatever the other dims are; without, as the library does.
// T in and out, dw in A; accumulation in f64 for f64, else f32. Rows of the
// result are split over threads in chunks that depend on the shape alone, each
// computed by one thread: the same bits on any number of threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Gemm.h"
#include "runtime/kernels/cpu/Kernels.h"

#include <algorithm>

namespace tgpt::runtime::cpu::TGPT_ISA {

/// The elements of `x` from number `first`.
static const void *elementsFrom(const TensorView &x, int64_t first) {
  return x.as<std::byte>() + first * int64_t(sizeInBytes(x.dtype));
}

/// Leaves the k that the call adds up; where it begins.
static int64_t takeChunks(const KernelCall &call, GemmShape &shape) {
  ChunkRange range = ChunkRange::of(*call.attributes);
  shape.chunks = range.isAll() ? call.attributes->integer("chunks") : range.count;
  int64_t begin = range.beginIn(shape.k);
  shape.k = range.endIn(shape.k) - begin;
  return begin;
}

KernelStatus linear(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &w = call.inputs[1], &y = call.outputs[0];
  GemmShape shape{.inputType = x.dtype, .outputType = y.dtype, .transposeB = true};
  shape.m = x.rows(), shape.n = y.dim(-1), shape.k = x.dim(-1);
  shape.lda = shape.k, shape.ldb = shape.k, shape.ldc = shape.n;
  shape.hasBias = call.inputs.size() > 2;
  int64_t begin = takeChunks(call, shape);
  return gemmOverThreads(
      shape, {elementsFrom(x, begin), elementsFrom(w, begin), y.data, shape.hasBias ? call.inputs[2].data : nullptr});
}

KernelStatus linearDgrad(const KernelCall &call) {
  const TensorView &dy = call.inputs[0], &w = call.inputs[1], &dx = call.outputs[0];
  GemmShape shape{.inputType = dy.dtype, .outputType = dx.dtype};
  shape.m = dy.rows(), shape.n = dx.dim(-1), shape.k = dy.dim(-1);
  shape.lda = shape.k, shape.ldb = shape.n, shape.ldc = shape.n;
  int64_t begin = takeChunks(call, shape);
  return gemmOverThreads(shape, {elementsFrom(dy, begin), elementsFrom(w, begin * shape.ldb), dx.data});
}

KernelStatus linearDgradSum(const KernelCall &call) {
  constexpr size_t mostTerms = 8;
  GemmTerm terms[mostTerms];
  size_t count = call.inputs.size() / 2;
  const TensorView &dx = call.outputs[0];
  GemmShape shape{.inputType = dx.dtype, .outputType = dx.dtype};
  shape.m = dx.rows(), shape.n = dx.dim(-1), shape.ldc = shape.n;
  ChunkRange range = ChunkRange::of(*call.attributes);
  shape.chunks = range.count;
  for (size_t i = 0; i < count; ++i) {
    const TensorView &dy = call.inputs[i], &w = call.inputs[count + i];
    int64_t n = dy.dim(-1), begin = range.beginIn(n);
    terms[i] = {elementsFrom(dy, begin), elementsFrom(w, begin * shape.n), range.endIn(n) - begin, n, shape.n};
    shape.k += terms[i].k;
  }
  return gemmInOrderOverThreads(shape, {terms, count}, dx.data);
}

KernelStatus linearWgrad(const KernelCall &call) {
  const TensorView &dy = call.inputs[0], &x = call.inputs[1], &dw = call.outputs[0];
  GemmShape shape{.inputType = dy.dtype, .outputType = dw.dtype, .transposeA = true};
  shape.accumulate = call.accumulates(0);
  shape.m = dy.dim(-1), shape.n = x.dim(-1), shape.k = dy.rows();
  shape.lda = shape.m, shape.ldb = shape.n, shape.ldc = shape.n;
  int64_t begin = takeChunks(call, shape);
  return gemmOverThreads(shape, {elementsFrom(dy, begin * shape.lda), elementsFrom(x, begin * shape.ldb), dw.data});
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
