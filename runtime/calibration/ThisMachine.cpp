//===- ThisMachine.cpp - what a calibration says of where and when it was made ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/calibration/ThisMachine.h"

#include <cctype>
#include <ctime>
#include <fstream>
#include <unistd.h>

std::string tgpt::runtime::calibration::processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "unknown processor";
}

std::string tgpt::runtime::calibration::today() {
  std::time_t now = std::time(nullptr);
  std::tm parts;
  char text[16];
  ::gmtime_r(&now, &parts);
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d", &parts));
}

std::string tgpt::runtime::calibration::wordOf(const std::string &text) {
  std::string word;
  for (char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '.')
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!word.empty() && word.back() != '-')
      word += '-';
  while (!word.empty() && word.back() == '-')
    word.pop_back();
  return word.empty() ? "cpu" : word;
}

double tgpt::runtime::calibration::memoryBytes() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}
