//===- BytesText.cpp - bytes for people ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/BytesText.h"

#include <array>
#include <cmath>
#include <cstdio>

std::string tgpt::bytesText(double bytes) {
  static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double size = std::abs(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < units.size(); ++unit)
    size /= 1024;
  int digits = unit == 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s", digits, size, units[unit]);
  return text;
}
