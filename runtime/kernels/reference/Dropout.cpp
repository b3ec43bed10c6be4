//===- Dropout.cpp - reference dropout --------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/Philox.h"
#include "runtime/kernels/reference/Element.h"
#include "runtime/kernels/reference/Kernels.h"

namespace tgpt::runtime::reference {

KernelStatus dropout(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &samples = call.inputs[1], &step = call.inputs[2];
  double probability = call.attributes->real("probability");
  uint64_t key = uint64_t(call.attributes->integer("key"));
  int64_t position0 = call.attributes->integer("position_offset"), column0 = call.attributes->integer("width_offset");
  int64_t s = x.dim(1), d = x.dim(2);
  for (int64_t i = 0; i < x.elements(); ++i) {
    int64_t row = i / d, column = column0 + i % d;
    std::array<uint32_t, 4> words =
        philox4x32({uint32_t(column / 4), uint32_t(position0 + row % s), uint32_t(samples.as<int32_t>()[row / s]),
                    uint32_t(step.as<int32_t>()[0])},
                   {uint32_t(key), uint32_t(key >> 32)});
    bool isKept = double(words[column % 4]) >= std::min(probability * 0x1p32, 0x1p32 - 1);
    put(call.outputs[0], i, isKept ? get(x, i) / (1 - probability) : 0.0);
  }
  return {};
}

} // namespace tgpt::runtime::reference
