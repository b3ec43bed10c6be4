//===- Error.h - the one exception of the runtime ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_PLAN_ERROR_H
#define TGPT_RUNTIME_PLAN_ERROR_H

#include <stdexcept>
#include <string>
#include <utility>

namespace tgpt::runtime {

/// Something a user can act on: a bad file, option or plan, or a failed rank.
/// The message is one line, lower case, without a full stop. Where one line cannot say it
/// all (a deadlock, the ranks of a stuck job) there are details: indented lines to print behind it.
class Error : public std::runtime_error {
public:
  explicit Error(const std::string &message, std::string details = {})
      : std::runtime_error(message), detailLines(std::move(details)) {}

  /// Lines separated by '\n', without one at the end; empty where there are none.
  const std::string &details() const { return detailLines; }

private:
  std::string detailLines;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_PLAN_ERROR_H
