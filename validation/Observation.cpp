//===- Observation.cpp - a measured time beside the predicted one ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "validation/Observation.h"
#include <cstdint>

namespace tgpt::validation {

bool isHeldOut(const std::string &group) {
  std::uint64_t hash = 14695981039346656037ull; // FNV-1a
  for (unsigned char c : group)
    hash = (hash ^ c) * 1099511628211ull;
  // The last characters reach few of FNV-1a's bits: mix them (the finaliser of MurmurHash3) before taking one.
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdull;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return (hash ^ (hash >> 33)) & 1;
}

} // namespace tgpt::validation
