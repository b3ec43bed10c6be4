//===- LibraryProblem.cpp - a product in the words of cuBLASLt -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One attribute for each member of a ColumnMajorProduct, and no decision: this part only
// a GPU can check.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cublaslt/LibraryProblem.h"

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

static cudaDataType_t libraryType(DType dtype) {
  switch (dtype) {
  case DType::BF16: return CUDA_R_16BF;
  case DType::F16: return CUDA_R_16F;
  default: return CUDA_R_32F;
  }
}

static Layout layoutOf(DType dtype, int64_t rows, int64_t columns, int64_t distance, Calls &calls) {
  cublasLtMatrixLayout_t created = nullptr;
  calls.then("cublasLtMatrixLayoutCreate", cublasLtMatrixLayoutCreate, &created, libraryType(dtype), uint64_t(rows),
             uint64_t(columns), distance);
  return Layout(created);
}

static cublasLtEpilogue_t epilogueOf(const ColumnMajorProduct &p) {
  switch (p.epilogue) {
  case Epilogue::None: return p.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  case Epilogue::Gelu: return p.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
  case Epilogue::GeluGrad: return CUBLASLT_EPILOGUE_DGELU;
  case Epilogue::BiasGradient: return CUBLASLT_EPILOGUE_BGRADB;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

LibraryProblem::LibraryProblem(const ColumnMajorProduct &p, Calls &calls) {
  cublasLtMatmulDesc_t created = nullptr;
  calls.then("cublasLtMatmulDescCreate", cublasLtMatmulDescCreate, &created,
             p.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F);
  description.reset(created);
  auto describe = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
    calls.then("cublasLtMatmulDescSetAttribute", cublasLtMatmulDescSetAttribute, description.get(), attribute, &value,
               sizeof(value));
  };
  describe(CUBLASLT_MATMUL_DESC_TRANSA, p.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N);
  describe(CUBLASLT_MATMUL_DESC_TRANSB, p.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N);
  describe(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogueOf(p));
  if (p.bias)
    describe(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
  if (p.biasGradient) {
    describe(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.biasGradient);
    describe(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, libraryType(p.outputType));
  }
  if (p.aux) {
    describe(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p.aux);
    describe(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p.ldc);
  }
  a = p.transposeA ? layoutOf(p.inputType, p.k, p.m, p.lda, calls) : layoutOf(p.inputType, p.m, p.k, p.lda, calls);
  b = p.transposeB ? layoutOf(p.inputType, p.n, p.k, p.ldb, calls) : layoutOf(p.inputType, p.k, p.n, p.ldb, calls);
  c = layoutOf(p.outputType, p.m, p.n, p.ldc, calls);
}
