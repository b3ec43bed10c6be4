//===- KernelTables.h - measured products and collectives against their curves ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_VALIDATION_KERNELTABLES_H
#define TGPT_VALIDATION_KERNELTABLES_H

#include "validation/Constants.h"
#include "validation/Observation.h"

namespace tgpt::validation {

/// Matrix products, but for the smallest, which are all start.
std::vector<Observation> observeProducts(const std::string &folder, const Constants &constants);
/// Collectives of at least 64 KiB.
std::vector<Observation> observeCollectives(const std::string &folder, const Constants &constants);

} // namespace tgpt::validation

#endif // TGPT_VALIDATION_KERNELTABLES_H
