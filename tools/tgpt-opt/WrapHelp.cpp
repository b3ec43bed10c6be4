//===- WrapHelp.cpp - lines of --help that a terminal has room for ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WrapHelp.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Process.h"
#include <algorithm>
#include <deque>
#include <string>

/// `text` with a line break instead of a blank wherever a line would be longer than `width`; a word that is stays
/// whole.
static std::string wrapped(llvm::StringRef text, size_t width) {
  std::string lines;
  size_t column = 0;
  for (llvm::StringRef word : llvm::split(text, ' ')) {
    bool fits = column + 1 + word.size() <= width;
    if (!lines.empty())
      lines += fits ? ' ' : '\n';
    column = fits && !lines.empty() ? column + 1 + word.size() : word.size();
    lines += word;
  }
  return lines;
}

void tgpt::wrapHelp() {
  constexpr unsigned columnsOfFile = 120, leastWidth = 40, mark = 3; // " - "
  static std::deque<std::string> texts;                              // the options refer to them
  unsigned columns = llvm::sys::Process::StandardOutColumns();
  size_t widest = 0;
  auto isShown = [](const llvm::cl::Option *option) { return option->getOptionHiddenFlag() == llvm::cl::NotHidden; };
  for (auto &entry : llvm::cl::getRegisteredOptions())
    if (isShown(entry.second))
      widest = std::max(widest, entry.second->getOptionWidth());
  size_t used = widest + mark, all = columns > 0 ? columns : columnsOfFile;
  for (auto &entry : llvm::cl::getRegisteredOptions())
    if (llvm::StringRef text = entry.second->HelpStr; isShown(entry.second) && !text.contains('\n'))
      entry.second->setDescription(
          texts.emplace_back(wrapped(text, all > used + leastWidth ? all - used : leastWidth)));
}
