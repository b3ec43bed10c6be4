//===- DrawnCollective.h - a random collective call of a group ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_COMM_DRAWNCOLLECTIVE_H
#define TGPT_TEST_UNIT_COMM_DRAWNCOLLECTIVE_H

#include "test/unit/comm/HostTensor.h"

#include <random>

namespace tgpt::test {

/// The largest of what is drawn.
struct DrawLimits {
  int64_t members = 9, extent = 7;
  int64_t lengthFactor = 600; ///< of tensors with one dimension: several pieces, however they are cut
};

struct DrawnCollective {
  DrawnCollective(uint64_t seed, const DrawLimits &limits)
      : random(seed), size(1 + random() % limits.members), dtype(static_cast<DType>(random() % 5)) {
    for (uint64_t dims = 1 + random() % 4; dims > 0; --dims)
      shape.push_back(1 + random() % limits.extent);
    dim = static_cast<int>(random() % shape.size());
    dim2 = static_cast<int>(random() % shape.size());
    if (shape.size() == 1)
      shape[0] *= limits.lengthFactor;
  }

  /// A tensor of each member. Reals are of any size, integers of any 32 bits.
  HostTensors reals(const std::vector<int64_t> &of) {
    std::normal_distribution<double> normal;
    return filled(of, [&] { return dtype == DType::I32 ? double(static_cast<int32_t>(random())) : normal(random); });
  }
  /// Integers whose sums are exact in every dtype.
  HostTensors smallIntegers(const std::vector<int64_t> &of) {
    return filled(of, [&] { return double(random() % 9) - 4; });
  }
  /// The shape with `size` times the extent of a dimension.
  std::vector<int64_t> joinedAlong(int along) const {
    std::vector<int64_t> joined = shape;
    joined[along] *= size;
    return joined;
  }

  std::mt19937_64 random;
  int64_t size; ///< members
  DType dtype;
  std::vector<int64_t> shape;
  int dim, dim2;

private:
  HostTensors filled(const std::vector<int64_t> &of, const std::function<double()> &draw) {
    HostTensors tensors(size, HostTensor(dtype, of));
    for (HostTensor &tensor : tensors)
      tensor.fill(draw);
    return tensors;
  }
};

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_COMM_DRAWNCOLLECTIVE_H
