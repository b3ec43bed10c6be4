//===- ArenaProgram.h - calls over one arena of f32 -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_KERNELS_CUDA_ARENAPROGRAM_H
#define TGPT_TEST_UNIT_KERNELS_CUDA_ARENAPROGRAM_H

#include "runtime/kernels/cuda/fusion/CallOrder.h"

#include <algorithm>
#include <list>
#include <vector>

namespace tgpt::test {

/// The calls of a segment, as fusions are looked for in them; a place of the arena holds a matrix [4,8].
class ArenaProgram {
public:
  static constexpr int64_t rows = 4, width = 8;
  ArenaProgram() : arena(size_t(64) * rows * width) {}

  runtime::TensorView view(int64_t at, std::vector<int64_t> shape = {rows, width},
                           runtime::DType dtype = runtime::DType::F32) {
    runtime::TensorView view;
    view.data = arena.data() + at * rows * width;
    view.dtype = dtype;
    view.rank = uint8_t(shape.size());
    std::copy(shape.begin(), shape.end(), view.shape.begin());
    return view;
  }
  runtime::TensorView vector(int64_t at) { return view(at, {width}); }

  std::vector<float> arena; ///< malloc aligns it to 16 bytes
  std::list<std::vector<runtime::TensorView>> operands;
  std::vector<runtime::cuda::PlannedCall> calls;

protected:
  void addCall(std::string_view kernel, std::vector<runtime::TensorView> inputs,
               std::vector<runtime::TensorView> outputs, runtime::Attributes own, bool isTakenOnce = true) {
    std::vector<bool> taken(outputs.size(), isTakenOnce);
    const auto &in = operands.emplace_back(std::move(inputs));
    auto &out = operands.emplace_back(std::move(outputs));
    calls.push_back({kernel, {in, out, &attributes.emplace_back(std::move(own))}, std::move(taken)});
  }

private:
  std::list<runtime::Attributes> attributes;
};

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_KERNELS_CUDA_ARENAPROGRAM_H
