//===- ColumnMajorProduct.cpp - what a BLAS is asked for --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cublaslt/ColumnMajorProduct.h"

#include <algorithm>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

uint32_t cuda::alignmentOf(const void *address) {
  uintptr_t bits = reinterpret_cast<uintptr_t>(address) | 256;
  return uint32_t(bits & (~bits + 1));
}

/// Where there is no such operand, its address 0 is a multiple of all.
uint32_t cuda::alignmentOfEpilogue(const ColumnMajorProduct &p) {
  return std::min({alignmentOf(p.bias), alignmentOf(p.aux), alignmentOf(p.biasGradient)});
}

static const char *textOf(Epilogue epilogue) {
  switch (epilogue) {
  case Epilogue::None: return "";
  case Epilogue::Gelu: return " gelu";
  case Epilogue::GeluGrad: return " gelu_grad";
  case Epilogue::BiasGradient: return " bias_gradient";
  }
  return "";
}

std::string ColumnMajorProduct::key() const {
  auto aligned = [](const char *name, const void *address) {
    return address ? " " + std::string(name) + std::to_string(alignmentOf(address)) : "";
  };
  std::string text = std::string(runtime::name(inputType)) + " " + std::string(runtime::name(outputType)) + " ";
  text += transposeA ? "T" : "N";
  text += transposeB ? "T" : "N";
  text += " " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  text += " ld " + std::to_string(lda) + "," + std::to_string(ldb) + "," + std::to_string(ldc);
  text += aligned("a", a) + aligned("b", b) + aligned("c", c) + aligned("bias", bias) + aligned("aux", aux);
  text += aligned("sums", biasGradient) + textOf(epilogue);
  text += (tf32 ? " tf32" : "") + std::string(accumulate ? " accumulate" : "");
  return text + (workspaceBytes > 0 ? " ws" + std::to_string(workspaceBytes) : "");
}

/// y[rows,n] = x[rows,k] w[n,k]^T: y^T = w x^T.
ColumnMajorProduct cuda::linearProduct(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &w = call.inputs[1], &y = call.outputs[0];
  ColumnMajorProduct p{.inputType = x.dtype, .outputType = y.dtype, .transposeA = true};
  p.m = y.dim(-1), p.n = x.rows(), p.k = x.dim(-1);
  p.lda = p.k, p.ldb = p.k, p.ldc = p.m;
  p.a = w.data, p.b = x.data, p.c = y.data;
  p.bias = call.inputs.size() > 2 ? call.inputs[2].data : nullptr;
  return p;
}

/// dx[rows,k] = dy[rows,n] w[n,k]: dx^T = w^T dy^T.
ColumnMajorProduct cuda::linearDgradProduct(const KernelCall &call) {
  const TensorView &dy = call.inputs[0], &w = call.inputs[1], &dx = call.outputs[0];
  ColumnMajorProduct p{.inputType = dy.dtype, .outputType = dx.dtype};
  p.m = dx.dim(-1), p.n = dy.rows(), p.k = dy.dim(-1);
  p.lda = p.m, p.ldb = p.k, p.ldc = p.m;
  p.a = w.data, p.b = dy.data, p.c = dx.data;
  return p;
}

/// dw[n,k] = dy[rows,n]^T x[rows,k]: dw^T = x^T dy.
ColumnMajorProduct cuda::linearWgradProduct(const KernelCall &call) {
  const TensorView &dy = call.inputs[0], &x = call.inputs[1], &dw = call.outputs[0];
  ColumnMajorProduct p{.inputType = dy.dtype, .outputType = dw.dtype, .transposeB = true};
  p.accumulate = call.accumulates(0);
  p.m = x.dim(-1), p.n = dy.dim(-1), p.k = dy.rows();
  p.lda = p.m, p.ldb = p.n, p.ldc = p.m;
  p.a = x.data, p.b = dy.data, p.c = dw.data;
  return p;
}

ColumnMajorProduct cuda::linearGeluProduct(const KernelCall &call) {
  ColumnMajorProduct p = linearProduct(call);
  p.epilogue = Epilogue::Gelu;
  p.aux = p.c;
  p.c = call.outputs[1].data;
  return p;
}

ColumnMajorProduct cuda::dgradGeluGradProduct(const KernelCall &call) {
  ColumnMajorProduct p = linearDgradProduct(call);
  p.epilogue = Epilogue::GeluGrad;
  p.aux = call.inputs[2].data;
  return p;
}

ColumnMajorProduct cuda::wgradBiasProduct(const KernelCall &call, void *biasGradient) {
  ColumnMajorProduct p = linearWgradProduct(call);
  p.epilogue = Epilogue::BiasGradient;
  p.biasGradient = biasGradient;
  return p;
}
