//===- MemoryTables.h - published bytes against the closed forms ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No constant of the memory model is fitted: every row is held out.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_VALIDATION_MEMORYTABLES_H
#define TGPT_VALIDATION_MEMORYTABLES_H

#include "validation/Observation.h"

namespace tgpt::validation {

/// States and activations: of formulas in papers, and as programs reported them. In bytes.
std::vector<Observation> observeMemory(const std::string &folder);

} // namespace tgpt::validation

#endif // TGPT_VALIDATION_MEMORYTABLES_H
