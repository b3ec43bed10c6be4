//===- EmulatedProducts.cpp - what cuBLASLt does, on the host --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/emulation/EmulatedProducts.h"
#include "runtime/kernels/api/BFloat16.h"
#include "runtime/kernels/api/Float16.h"
#include "runtime/kernels/cuda/cublaslt/ProductKernels.h"

#include <cmath>
#include <cstring>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

static float get(const void *from, DType dtype, int64_t i) {
  switch (dtype) {
  case DType::BF16: return toFloat(static_cast<const BFloat16 *>(from)[i]);
  case DType::F16: return toFloat(static_cast<const Float16 *>(from)[i]);
  default: return static_cast<const float *>(from)[i];
  }
}

static void put(void *to, DType dtype, int64_t i, float value) {
  switch (dtype) {
  case DType::BF16: static_cast<BFloat16 *>(to)[i] = toBFloat16(value); break;
  case DType::F16: static_cast<Float16 *>(to)[i] = toFloat16(value); break;
  default: static_cast<float *>(to)[i] = value;
  }
}

/// The nearest number of 10 bits of fraction.
static float roundToTf32(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  bits = (bits + 0xfff + (bits >> 13 & 1)) & ~uint32_t(0x1fff);
  std::memcpy(&x, &bits, sizeof(bits));
  return x;
}

/// op(matrix)[outer, inner] to values[inner * outers + outer], or the other way round.
static std::vector<float> operand(const void *from, const ColumnMajorProduct &p, int64_t outers, int64_t inners,
                                  int64_t outerStride, int64_t innerStride, bool outersLast) {
  std::vector<float> values(outers * inners);
  for (int64_t outer = 0; outer < outers; ++outer)
    for (int64_t inner = 0; inner < inners; ++inner) {
      float value = get(from, p.inputType, outer * outerStride + inner * innerStride);
      values[outersLast ? inner * outers + outer : outer * inners + inner] = p.tf32 ? roundToTf32(value) : value;
    }
  return values;
}

static constexpr float geluSlope = 1.5957691216057308f, geluCube = 0.044715f;

static float gelu(float x) {
  return x / (1 + std::exp(-geluSlope * x * (1 + geluCube * x * x)));
}

static float geluGrad(float x) {
  float s = 1 / (1 + std::exp(-geluSlope * x * (1 + geluCube * x * x)));
  return s + x * s * (1 - s) * geluSlope * (1 + 3 * geluCube * x * x);
}

static void storeColumn(const ColumnMajorProduct &p, int64_t column, const std::vector<float> &sums) {
  for (int64_t row = 0; row < p.m; ++row) {
    int64_t at = column * p.ldc + row;
    float value = sums[row] + (p.bias ? get(p.bias, p.inputType, row) : 0);
    if (p.accumulate)
      value += get(p.c, p.outputType, at);
    if (p.epilogue == Epilogue::Gelu) {
      put(p.aux, p.inputType, at, value);
      value = gelu(value);
    }
    if (p.epilogue == Epilogue::GeluGrad)
      value *= geluGrad(get(p.aux, p.inputType, at));
    put(p.c, p.outputType, at, value);
  }
}

KernelStatus emulated::multiply(const ColumnMajorProduct &p) {
  if (p.workspaceBytes > 0) // as the library, which may write all of it
    std::memset(p.workspace, 0x7f, p.workspaceBytes);
  if (alignmentOfEpilogue(p) < epilogueAlignment)
    return {"what a product's epilogue reads or writes beside the result is not at a multiple of 16 bytes"};
  std::vector<float> a = operand(p.a, p, p.m, p.k, p.transposeA ? p.lda : 1, p.transposeA ? 1 : p.lda, true);
  std::vector<float> b = operand(p.b, p, p.n, p.k, p.transposeB ? 1 : p.ldb, p.transposeB ? p.ldb : 1, false);
  std::vector<float> sums(p.m);
  for (int64_t column = 0; column < p.n; ++column) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    float total = 0;
    for (int64_t k = 0; k < p.k; ++k) {
      float factor = b[column * p.k + k];
      const float *left = &a[k * p.m];
      for (int64_t row = 0; row < p.m; ++row)
        sums[row] += left[row] * factor;
      total += factor;
    }
    storeColumn(p, column, sums);
    if (p.epilogue == Epilogue::BiasGradient)
      put(p.biasGradient, p.outputType, column, total);
  }
  return {};
}

namespace {
struct OnTheHost {
  static std::span<const DeviceKernel> ordered() { return emulated::kernelTable(); }
  static bool supports(const ColumnMajorProduct &) { return true; }
  static KernelStatus multiply(const ColumnMajorProduct &product) { return emulated::multiply(product); }
};
} // namespace

std::span<const DeviceKernel> emulated::productTable() {
  static const std::vector<DeviceKernel> table = ProductKernels<OnTheHost>::table();
  return table;
}

std::span<const FusedKernel> emulated::fusedKernels() {
  static const std::vector<FusedKernel> kernels = ProductKernels<OnTheHost>::fused();
  return kernels;
}
