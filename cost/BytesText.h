//===- BytesText.h - bytes for people ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_BYTESTEXT_H
#define TGPT_COST_BYTESTEXT_H

#include <string>

namespace tgpt {

/// The magnitude in the largest unit that leaves it at least one, to three digits: "512 B", "1.50 KiB", "71.2 GiB".
std::string bytesText(double bytes);

} // namespace tgpt

#endif // TGPT_COST_BYTESTEXT_H
