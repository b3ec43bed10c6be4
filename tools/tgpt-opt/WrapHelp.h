//===- WrapHelp.h - lines of --help that a terminal has room for ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TOOLS_TGPT_OPT_WRAPHELP_H
#define TGPT_TOOLS_TGPT_OPT_WRAPHELP_H

namespace tgpt {

/// Breaks what --help says of each option into lines of the terminal's width, or of 120 columns where stdout is none.
/// Call when all options are registered, before they are parsed.
void wrapHelp();

} // namespace tgpt

#endif // TGPT_TOOLS_TGPT_OPT_WRAPHELP_H
