//===- AlgorithmCache.cpp - how each product is computed --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text: "tgpt-products 1 OWNER", then a line for each product: sixteen hexadecimal digits
// for each of the eight words, then the product's key.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cublaslt/AlgorithmCache.h"
#include "runtime/files/AtomicFile.h"
#include "runtime/plan/Error.h"

#include <charconv>
#include <cstdio>
#include <fstream>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

static constexpr size_t wordDigits = 16;

static std::string firstLine(const std::string &owner) {
  return "tgpt-products 1 " + owner;
}

const AlgorithmBits *AlgorithmCache::find(const std::string &key) const {
  auto found = algorithms.find(key);
  return found == algorithms.end() ? nullptr : &found->second;
}

/// "0123456789abcdef ... key"; false where the line is none.
static bool parseLine(const std::string &line, AlgorithmBits &bits, std::string &key) {
  size_t at = 0;
  for (uint64_t &word : bits) {
    if (line.size() < at + wordDigits + 1 || line[at + wordDigits] != ' ')
      return false;
    const char *begin = line.data() + at, *end = begin + wordDigits;
    auto [stop, status] = std::from_chars(begin, end, word, 16);
    if (status != std::errc() || stop != end)
      return false;
    at += wordDigits + 1;
  }
  key = line.substr(at);
  return !key.empty();
}

bool AlgorithmCache::load(const std::string &path) {
  std::ifstream file(path);
  std::string line, key;
  if (!file || !std::getline(file, line) || line != firstLine(owner))
    return false;
  std::map<std::string, AlgorithmBits> read;
  for (int number = 2; std::getline(file, line); ++number) {
    AlgorithmBits bits{};
    if (!parseLine(line, bits, key))
      throw Error(path + ":" + std::to_string(number) + ": line is damaged, expected eight words of 16 hexadecimal " +
                  "digits and a product; delete the file to have algorithms chosen anew");
    read[key] = bits;
  }
  algorithms.merge(read);
  return true;
}

void AlgorithmCache::save(const std::string &path) const {
  std::string text = firstLine(owner) + "\n";
  for (const auto &[key, bits] : algorithms) {
    for (uint64_t word : bits) {
      char digits[wordDigits + 2];
      std::snprintf(digits, sizeof(digits), "%016llx ", static_cast<unsigned long long>(word));
      text += digits;
    }
    text += key + "\n";
  }
  writeTextAtomically(path, text);
}
