//===- MemoryReportHtml.cpp - the memory report as a page ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One file that needs no other and no network: the page of the folder page/, which the
// build turns into a string, around the report as JSON.
//
//===----------------------------------------------------------------------===//

#include "compiler/report/MemoryPage.h"
#include "compiler/report/MemoryReportJson.h"

using namespace tgpt;

/// JSON that may stand in a script element: "</script" must not occur, nor "<!--".
static std::string scriptJson(const MemoryReport &report) {
  std::string text = memoryReportObject(report).dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  std::string safe;
  for (char c : text)
    safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return safe;
}

static void replace(std::string &text, const std::string &mark, const std::string &with) {
  size_t at = text.find(mark);
  if (at != std::string::npos)
    text.replace(at, mark.size(), with);
}

std::string tgpt::memoryReportHtml(const MemoryReport &report) {
  std::string page = memoryPageHtml;
  replace(page, "/* STYLE */", memoryPageCss);
  replace(page, "/* SCRIPT */", memoryPageJs);
  replace(page, "/* REPORT */", scriptJson(report));
  return page;
}
