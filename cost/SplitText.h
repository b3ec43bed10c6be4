//===- SplitText.h - the parts of a text ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_SPLITTEXT_H
#define TGPT_COST_SPLITTEXT_H

#include <string>
#include <vector>

namespace tgpt::cost {

/// The parts between separators; at least one, which may be empty.
inline std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text)
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

} // namespace tgpt::cost

#endif // TGPT_COST_SPLITTEXT_H
