//===- Error.h - the one exception of the runtime ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_PLAN_ERROR_H
#define TGPT_RUNTIME_PLAN_ERROR_H

#include <stdexcept>

namespace tgpt::runtime {

/// Something a user can act on: a bad file, option or plan, or a failed rank.
/// The message is one line, lower case, without a full stop.
class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_PLAN_ERROR_H
