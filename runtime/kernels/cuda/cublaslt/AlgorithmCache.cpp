//===- AlgorithmCache.cpp - how each product is computed -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text: "tgpt-products 3 OWNER", then a line for each product: sixteen hexadecimal digits
// for each of the eight words, then the product's key. Then "take", a name and the key of a
// call for each choice between kernels; at last "end" and a hash of all before it, so that
// neither a changed nor a missing line is taken.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cublaslt/AlgorithmCache.h"
#include "runtime/files/AtomicFile.h"
#include "runtime/plan/Error.h"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

static constexpr size_t wordDigits = 16;

static std::string firstLine(const std::string &owner) {
  return "tgpt-products 3 " + owner + "\n";
}

static std::string hexadecimal(uint64_t word) {
  char digits[wordDigits + 1];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(word));
  return digits;
}

/// FNV-1a.
static uint64_t hashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

static std::string lastLine(std::string_view before) {
  return "end " + hexadecimal(hashOf(before)) + "\n";
}

const ChosenAlgorithm *AlgorithmCache::find(const std::string &key) const {
  auto found = algorithms.find(key);
  return found == algorithms.end() ? nullptr : &found->second;
}

const std::string *AlgorithmCache::findTaken(const std::string &key) const {
  auto found = taken.find(key);
  return found == taken.end() ? nullptr : &found->second;
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

static constexpr std::string_view kindOfChoice = "take ";

/// "take name key"; false where the line is none.
static bool parseChoice(const std::string &line, std::string &name, std::string &key) {
  size_t begin = kindOfChoice.size(), space = line.find(' ', begin);
  if (space == std::string::npos || space == begin)
    return false;
  name = line.substr(begin, space - begin);
  key = line.substr(space + 1);
  return !key.empty();
}

/// The lines between the first and the last; false where the text is not whole.
static bool parse(const std::string &text, std::map<std::string, ChosenAlgorithm> &to,
                  std::map<std::string, std::string> &taken) {
  size_t begin = text.find('\n'), end = text.rfind("end ");
  if (begin == std::string::npos || end == std::string::npos || text.substr(end) != lastLine({text.data(), end}))
    return false;
  std::istringstream lines(text.substr(begin + 1, end - begin - 1));
  for (std::string line, key; std::getline(lines, line);) {
    if (line.starts_with(kindOfChoice)) {
      std::string name;
      if (!parseChoice(line, name, key))
        return false;
      taken[key] = name;
      continue;
    }
    ChosenAlgorithm algorithm;
    if (!parseLine(line, algorithm.bits, key))
      return false;
    to[key] = algorithm;
  }
  return true;
}

static constexpr std::string_view kindOfFile = "tgpt-products ";

/// Nothing where it cannot be read.
static std::string contentOf(const std::string &path) {
  std::ostringstream content;
  std::ifstream file(path);
  content << file.rdbuf();
  return file ? content.str() : "";
}

std::string AlgorithmCache::load(const std::string &path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return "";
  std::string text = contentOf(path), first = firstLine(owner);
  if (!text.starts_with(kindOfFile))
    return path + ": is no file of algorithms, they are chosen anew";
  if (!text.starts_with(first))
    return path + ": algorithms are of another library or device (" + text.substr(0, text.find('\n')) + "), here is '" +
           owner + "', they are chosen anew";
  std::map<std::string, ChosenAlgorithm> read;
  std::map<std::string, std::string> readTaken;
  if (!parse(text, read, readTaken))
    return path + ": is damaged, algorithms of products are chosen anew";
  algorithms.merge(read);
  taken.merge(readTaken);
  return "";
}

void AlgorithmCache::save(const std::string &path) const {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !contentOf(path).starts_with(kindOfFile))
    throw Error(path + ": is no file of algorithms, it is not overwritten");
  AlgorithmCache all(*this);
  all.load(path);
  std::string text = firstLine(owner);
  for (const auto &[key, algorithm] : all.algorithms) {
    for (uint64_t word : algorithm.bits)
      text += hexadecimal(word) + " ";
    text += key + "\n";
  }
  for (const auto &[key, name] : all.taken)
    text += std::string(kindOfChoice) + name + " " + key + "\n";
  writeTextAtomically(path, text + lastLine(text));
}
