//===- Case.cpp - a kernel call that owns its operands ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/Case.h"
#include "runtime/kernels/reference/Element.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace tgpt::runtime;
using namespace tgpt::test;

static constexpr size_t guardBytes = 64;
static constexpr char guardValue = 0x5a;

Tensor::Tensor(DType dtype, std::vector<int64_t> dims) : type(dtype), shape(std::move(dims)) {
  for (int64_t size : shape)
    count *= size;
  storage.resize((count * sizeInBytes(type) + guardBytes) / sizeof(double) + 1);
  std::memset(storage.data(), guardValue, storage.size() * sizeof(double));
  std::memset(storage.data(), 0, count * sizeInBytes(type));
}

TensorView Tensor::view() {
  TensorView view;
  view.data = storage.data();
  view.dtype = type;
  view.rank = uint8_t(shape.size());
  std::copy(shape.begin(), shape.end(), view.shape.begin());
  return view;
}

double Tensor::get(int64_t i) const {
  return reference::get(const_cast<Tensor *>(this)->view(), i);
}
void Tensor::set(int64_t i, double value) {
  reference::put(view(), i, value);
}

std::vector<double> Tensor::values() const {
  return reference::valuesOf(const_cast<Tensor *>(this)->view());
}

std::vector<char> Tensor::bytes() const {
  const char *begin = reinterpret_cast<const char *>(storage.data());
  return {begin, begin + count * sizeInBytes(type)};
}

bool Tensor::guardIntact() const {
  const char *begin = reinterpret_cast<const char *>(storage.data());
  const char *end = begin + storage.size() * sizeof(double);
  return std::all_of(begin + count * sizeInBytes(type), end, [](char c) { return c == guardValue; });
}

std::vector<Tensor> Case::run(const Kernel &with) const {
  std::vector<Tensor> in = inputs, out = outputs;
  std::vector<TensorView> inViews, outViews;
  for (Tensor &tensor : in)
    inViews.push_back(tensor.view());
  for (Tensor &tensor : out)
    outViews.push_back(tensor.view());
  KernelCall call{inViews, outViews, &attributes};
  EXPECT_EQ(with.check(call), "") << label;
  KernelStatus status = with.function(call);
  EXPECT_TRUE(status.ok()) << label << ": " << (status.error ? status.error : "");
  for (size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ(in[i].bytes(), inputs[i].bytes()) << label << ": input " << i << " was changed";
  for (size_t i = 0; i < out.size(); ++i)
    EXPECT_TRUE(out[i].guardIntact()) << label << ": wrote behind output " << i;
  return out;
}

std::vector<const CpuKernelBuild *> tgpt::test::buildsOf(std::string_view kernel) {
  std::vector<const CpuKernelBuild *> builds;
  for (const CpuKernelBuild &build : judgedBuilds()) {
    const Kernel *own = findKernel(build.table, kernel);
    bool isNew = std::none_of(builds.begin(), builds.end(), [&](const CpuKernelBuild *other) {
      return own && findKernel(other->table, kernel)->function == own->function;
    });
    if (own && isNew)
      builds.push_back(&build);
  }
  return builds;
}
