//===- GemmOneDnn.cpp - f32 and bf16 products through oneDNN ----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A primitive costs 0.2-0.5 ms to make and about 1 us to look up inside oneDNN,
// so each thread keeps its own, with memory objects ready, keyed by GemmShape.
// Primitives are made for one thread.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Gemm.h"
#include "runtime/kernels/cpu/Workspace.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <unordered_map>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cpu;

namespace {
struct ShapeHash {
  size_t operator()(const GemmShape &s) const {
    size_t flags = size_t(s.inputType) | size_t(s.outputType) << 3 | size_t(s.transposeA) << 6 |
                   size_t(s.transposeB) << 7 | size_t(s.accumulate) << 8 | size_t(s.hasBias) << 9;
    size_t hash = flags;
    for (int64_t value : {s.m, s.n, s.k, s.lda, s.ldb, s.ldc})
      hash = (hash ^ size_t(value)) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
  }
};

/// A product ready to run on this thread.
struct Product {
  dnnl::matmul primitive;
  dnnl::memory a, b, c, bias, scratchpad;
  std::unordered_map<int, dnnl::memory> arguments;
  size_t scratchpadBytes = 0;
};

/// oneDNN reads the OpenMP setting when it makes and when it runs a primitive.
class OneThread {
public:
  OneThread() : threads(omp_get_max_threads()) {
    if (threads != 1)
      omp_set_num_threads(1);
  }
  ~OneThread() {
    if (threads != 1)
      omp_set_num_threads(threads);
  }

private:
  int threads;
};
} // namespace

static const dnnl::engine &engine() {
  static const dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

static dnnl::memory::data_type dnnlType(DType dtype) {
  return dtype == DType::BF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

static dnnl::memory::desc matrix(int64_t rows, int64_t columns, int64_t ld, bool transposed, DType dtype) {
  dnnl::memory::dims strides = transposed ? dnnl::memory::dims{1, ld} : dnnl::memory::dims{ld, 1};
  return {{rows, columns}, dnnlType(dtype), strides};
}

/// The primitive for `s`, or nothing where this processor has none.
static std::optional<dnnl::matmul::primitive_desc> describe(const GemmShape &s) {
  auto a = matrix(s.m, s.k, s.lda, s.transposeA, s.inputType);
  auto b = matrix(s.k, s.n, s.ldb, s.transposeB, s.inputType);
  auto c = matrix(s.m, s.n, s.ldc, false, s.outputType);
  auto bias = matrix(1, s.n, s.n, false, s.inputType);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (s.accumulate) {
    dnnl::post_ops add;
    add.append_sum(1.0f);
    attributes.set_post_ops(add);
  }
  auto operation = s.hasBias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
  dnnl::matmul::primitive_desc made(operation, attributes, engine(), /*allow_empty=*/true);
  if (!made)
    return std::nullopt;
  return made;
}

static Product makeProduct(const dnnl::matmul::primitive_desc &description, const GemmShape &s) {
  Product product;
  product.primitive = dnnl::matmul(description);
  product.a = dnnl::memory(description.src_desc(), engine(), nullptr);
  product.b = dnnl::memory(description.weights_desc(), engine(), nullptr);
  product.c = dnnl::memory(description.dst_desc(), engine(), nullptr);
  product.scratchpad = dnnl::memory(description.scratchpad_desc(), engine(), nullptr);
  product.scratchpadBytes = description.scratchpad_desc().get_size();
  product.arguments = {{DNNL_ARG_SRC, product.a},
                       {DNNL_ARG_WEIGHTS, product.b},
                       {DNNL_ARG_DST, product.c},
                       {DNNL_ARG_SCRATCHPAD, product.scratchpad}};
  if (s.hasBias) {
    product.bias = dnnl::memory(description.bias_desc(), engine(), nullptr);
    product.arguments.emplace(DNNL_ARG_BIAS, product.bias);
  }
  return product;
}

/// This thread's product for `s`; null where the processor has no primitive for it.
static Product *findProduct(const GemmShape &s) {
  static thread_local std::unordered_map<GemmShape, std::optional<Product>, ShapeHash> products;
  auto [entry, isNew] = products.try_emplace(s);
  if (isNew) {
    if (auto description = describe(s))
      entry->second = makeProduct(*description, s);
  }
  return entry->second ? &*entry->second : nullptr;
}

static KernelStatus execute(Product &product, const GemmShape &s, const GemmOperands &operands) {
  static thread_local dnnl::stream stream(engine());
  void *scratchpad = workspace(WorkspaceUse::GemmScratchpad, product.scratchpadBytes);
  if (!scratchpad)
    return {workspaceExhausted};
  product.a.set_data_handle(const_cast<void *>(operands.a), stream);
  product.b.set_data_handle(const_cast<void *>(operands.b), stream);
  product.c.set_data_handle(operands.c, stream);
  product.scratchpad.set_data_handle(scratchpad, stream);
  if (s.hasBias)
    product.bias.set_data_handle(const_cast<void *>(operands.bias), stream);
  product.primitive.execute(stream, product.arguments);
  stream.wait();
  return {};
}

std::optional<KernelStatus> cpu::gemmOneDnn(const GemmShape &shape, const GemmOperands &operands) {
  OneThread guard;
  try {
    if (Product *product = findProduct(shape))
      return execute(*product, shape, operands);
    return std::nullopt;
  } catch (const dnnl::error &) {
    return KernelStatus{"oneDNN failed on a matrix product"};
  } catch (const std::bad_alloc &) {
    return KernelStatus{workspaceExhausted};
  }
}
