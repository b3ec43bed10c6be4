//===- GemmInOrder.cpp - products whose order of addition is known --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C[m,n] = or += sum over terms of op(A) op(B) + bias. k is cut into `chunks` equal
// chunks (one where a shape asks for none). An element of C adds the products of a
// chunk one by one in the order of k, term after term, and the chunks in a tree
// (api/SumTree.h): no bit depends on m, n or the threads, and whoever holds some of
// the chunks computes the partial sum that the whole product would contain.
//
// Blocks of A and B are packed into panels that the micro-kernel reads in order; a tile
// of C stays in registers while a chunk lasts. Chunks that are packed together are added
// up tile by tile, which costs little even where a chunk is short; what does not fit at
// once is a stack of blocks of C. bf16 is widened when it is packed.
// One core of Zen 4, f32, 8 chunks: 2048 x 1024 x 384 86 GFLOP/s of 117; 82 when rows
// were packed element by element, 74 when chunks were added up block by block as well.
// (Serial OpenBLAS is no alternative for f64: two ranks calling at once overwrite each
// other's packing buffer.)
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/SumTree.h"
#include "runtime/kernels/cpu/Gemm.h"
#include "runtime/kernels/cpu/Panels.h"
#include "runtime/kernels/cpu/Workspace.h"

#include <algorithm>

namespace tgpt::runtime::cpu::TGPT_ISA {

#if defined(__AVX512F__)
constexpr int64_t blockM = 266;
#else
constexpr int64_t blockM = 258;
#endif
constexpr int64_t blockK = 384, blockN = 256;

namespace {
template <typename T> struct Term {
  Strided<T> a, b;
  int64_t chunk; ///< its k in one chunk
};
} // namespace

/// tile = or += a[k][tileRows]^T b[k][columns].
template <typename A> static void multiplyTile(int64_t k, const A *a, const A *b, A *c, bool isFirst) {
  using Vector = typename Tile<A>::Vector;
  constexpr int64_t lanes = Tile<A>::lanes;
  auto *tile = reinterpret_cast<Vector *>(c);
  Vector sums[tileRows][2] = {};
  if (!isFirst) {
#pragma GCC unroll 16
    for (int64_t i = 0; i < tileRows; ++i)
      sums[i][0] = tile[2 * i], sums[i][1] = tile[2 * i + 1];
  }
  for (int64_t p = 0; p < k; ++p, a += tileRows, b += 2 * lanes) {
    Vector low = *reinterpret_cast<const Vector *>(b), high = *reinterpret_cast<const Vector *>(b + lanes);
#pragma GCC unroll 16
    for (int64_t i = 0; i < tileRows; ++i) {
      sums[i][0] += a[i] * low;
      sums[i][1] += a[i] * high;
    }
  }
#pragma GCC unroll 16
  for (int64_t i = 0; i < tileRows; ++i)
    tile[2 * i] = sums[i][0], tile[2 * i + 1] = sums[i][1];
}

namespace {
/// One block of C: rows x columns at (row, column).
template <typename T> class BlockProduct {
  using A = AccumulatorOf<T>;
  static constexpr int64_t columnsOfTile = Tile<A>::columns, elements = Tile<A>::elements;

public:
  BlockProduct(int64_t chunks)
      : a(workspace<A>(WorkspaceUse::GemmA, blockM * blockK)), b(workspace<A>(WorkspaceUse::GemmB, blockK * blockN)),
        levels(workspace<A>(WorkspaceUse::GemmC, sumTreeLevels(chunks) * blockM * blockN)), chunks(chunks) {}
  bool allocated() const { return a && b && levels; }

  /// The sum of all chunks of all terms, as tiles in level 0. As many neighbouring chunks as
  /// the packed blocks hold are added up tile by tile, and these groups block by block.
  void compute(std::span<const Term<T>> terms, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    rowTiles = (rows + tileRows - 1) / tileRows;
    columnTiles = (columns + columnsOfTile - 1) / columnsOfTile;
    int64_t chunkK = 0, group = 1;
    for (const Term<T> &term : terms)
      chunkK += term.chunk;
    while (2 * group * chunkK <= blockK && group < chunks)
      group *= 2;
    sumInTree((chunks + group - 1) / group,
              [&](int64_t i, int64_t level) {
                int64_t first = i * group, count = std::min(group, chunks - first);
                if (chunkK <= blockK)
                  addGroup(terms, row, rows, column, columns, first, count, chunkK, levelAt(level));
                else
                  addChunk(terms, row, rows, column, columns, first, levelAt(level));
              },
              [&](int64_t level) { addTiles(levelAt(level + 1), levelAt(level), rowTiles * columnTiles * elements); });
  }

  /// Element (i, j) of the block.
  const A *rowOf(int64_t i, int64_t columnTile) const {
    return levels + (columnTile * rowTiles + i / tileRows) * Tile<A>::elements + i % tileRows * columnsOfTile;
  }

private:
  A *levelAt(int64_t level) { return levels + level * blockM * blockN; }

  /// Chunks that fit into the packed blocks together.
  void addGroup(std::span<const Term<T>> terms, int64_t row, int64_t rows, int64_t column, int64_t columns,
                int64_t first, int64_t count, int64_t chunkK, A *tiles) {
    int64_t k = count * chunkK, at = 0;
    for (int64_t chunk = first; chunk < first + count; ++chunk)
      for (const Term<T> &term : terms) {
        pack<tileRows>(term.a.at(row, chunk * term.chunk), rows, term.chunk, a + at * tileRows, k);
        pack<columnsOfTile>(term.b.at(column, chunk * term.chunk), columns, term.chunk, b + at * columnsOfTile, k);
        at += term.chunk;
      }
    alignas(64) A more[mostSumTreeLevels][elements];
    forTiles(k, tiles, [&](const A *rowPanel, const A *columnPanel, A *tile) {
      auto levelOf = [&](int64_t level) { return level == 0 ? tile : more[level]; };
      sumInTree(
          count,
          [&](int64_t i, int64_t level) {
            multiplyTile(chunkK, rowPanel + i * chunkK * tileRows, columnPanel + i * chunkK * columnsOfTile,
                         levelOf(level), true);
          },
          [&](int64_t level) { addTiles(levelOf(level + 1), levelOf(level), elements); });
    });
  }

  /// A chunk that does not fit, part after part.
  void addChunk(std::span<const Term<T>> terms, int64_t row, int64_t rows, int64_t column, int64_t columns,
                int64_t chunk, A *tiles) {
    bool isFirst = true;
    for (const Term<T> &term : terms)
      for (int64_t p = 0; p < term.chunk; p += blockK, isFirst = false) {
        int64_t k = std::min(blockK, term.chunk - p), at = chunk * term.chunk + p;
        pack<tileRows>(term.a.at(row, at), rows, k, a, k);
        pack<columnsOfTile>(term.b.at(column, at), columns, k, b, k);
        forTiles(k, tiles, [&](const A *rowPanel, const A *columnPanel, A *tile) {
          multiplyTile(k, rowPanel, columnPanel, tile, isFirst);
        });
      }
  }

  /// body(panel of A, panel of B, tile of C).
  template <typename Body> void forTiles(int64_t k, A *tiles, const Body &body) {
    for (int64_t jt = 0; jt < columnTiles; ++jt)
      for (int64_t it = 0; it < rowTiles; ++it, tiles += elements)
        body(a + it * tileRows * k, b + jt * columnsOfTile * k, tiles);
  }

  static void addTiles(const A *from, A *to, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      to[i] += from[i];
  }

  A *a, *b, *levels;
  int64_t chunks, rowTiles = 0, columnTiles = 0;
};
} // namespace

/// to[j] = (to[j] or nothing) + (from[j] + (bias[j] or nothing)).
template <typename T, typename C, typename A>
static void storeRow(const A *from, const T *bias, C *to, int64_t n, bool accumulate) {
  for (int64_t j = 0; j < n; ++j) {
    A sum = bias ? from[j] + A(load(bias[j])) : from[j];
    to[j] = store<C>(accumulate ? A(load(to[j])) + sum : sum);
  }
}

template <typename T, typename C>
static KernelStatus multiply(const GemmShape &s, std::span<const GemmTerm> given, C *c, const T *bias) {
  using A = AccumulatorOf<T>;
  int64_t chunks = std::max<int64_t>(s.chunks, 1);
  constexpr size_t mostTerms = 8;
  if (given.size() > mostTerms)
    return {"more than 8 products in one sum"};
  Term<T> terms[mostTerms];
  for (size_t t = 0; t < given.size(); ++t) {
    const GemmTerm &term = given[t];
    terms[t] = {{static_cast<const T *>(term.a), s.transposeA ? 1 : term.lda, s.transposeA ? term.lda : 1},
                {static_cast<const T *>(term.b), s.transposeB ? term.ldb : 1, s.transposeB ? 1 : term.ldb},
                term.k / chunks};
  }
  BlockProduct<T> block(chunks);
  if (!block.allocated())
    return {workspaceExhausted};
  for (int64_t i = 0; i < s.m; i += blockM)
    for (int64_t j = 0; j < s.n; j += blockN) {
      int64_t rows = std::min(blockM, s.m - i), columns = std::min(blockN, s.n - j);
      block.compute({terms, given.size()}, i, rows, j, columns);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t jt = 0, at = 0; at < columns; ++jt, at += Tile<A>::columns)
          storeRow(block.rowOf(row, jt), bias ? bias + j + at : nullptr, c + (i + row) * s.ldc + j + at,
                   std::min(Tile<A>::columns, columns - at), s.accumulate);
    }
  return {};
}

KernelStatus gemmInOrder(const GemmShape &s, std::span<const GemmTerm> terms, void *c, const void *bias) {
  return forRealType(s.inputType, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    if (s.outputType == s.inputType)
      return multiply<T, T>(s, terms, static_cast<T *>(c), static_cast<const T *>(bias));
    return multiply<T, AccumulatorOf<T>>(s, terms, static_cast<AccumulatorOf<T> *>(c), static_cast<const T *>(bias));
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
