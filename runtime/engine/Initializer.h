//===- Initializer.h - first values of variables ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every element of a variable depends on the plan's seed, the initializer's key
// and the element's row-major index i in the logical tensor, never on the sharding.
// Padding is left as it is, which is 0.
//
//   CONSTANT  value
//   NORMAL    value + stddev * z(i), where, all in double:
//     k     = seed xor fnv1a64(key)          64 bits; FNV-1a over the key's bytes
//     w     = philox4x32-10(counter = [j mod 2^32, j >> 32, 0, 0],
//                           key     = [k mod 2^32, k >> 32]),   j = i / 2
//     u1    = (((w0 + w1 * 2^32) >> 11) + 1) * 2^-53            in (0, 1]
//     u2    =  ((w2 + w3 * 2^32) >> 11)      * 2^-53            in [0, 1)
//     r     = sqrt(-2 ln u1)
//     z(i)  = r cos(2 pi u2) for even i, r sin(2 pi u2) for odd i
//
// The value is rounded once (nearest even) to the variable's dtype.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_INITIALIZER_H
#define TGPT_RUNTIME_ENGINE_INITIALIZER_H

#include "runtime/engine/ShardRun.h"
#include "runtime/kernels/api/Kernel.h"
#include "runtime/plan/plan.pb.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace tgpt::runtime {

/// The standard normals of one initializer key.
class NormalStream {
public:
  NormalStream(uint64_t seed, std::string_view key);
  /// z(2j) and z(2j + 1).
  std::array<double, 2> pair(uint64_t j) const;
  double at(uint64_t i) const { return pair(i / 2)[i % 2]; }

private:
  uint64_t key;
};

/// Fills the elements of a variable that a rank holds, but padding.
void initialize(const plan::Initializer &initializer, uint64_t seed, const ShardRun &run);
/// The same where it holds all of a shard.
void initialize(const plan::Initializer &initializer, uint64_t seed, const Shard &shard, const TensorView &local);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_INITIALIZER_H
