//===- test/unit/files/TemporaryDirectory.h - a folder for the files of one test --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_TEST_UNIT_FILES_TEMPORARYDIRECTORY_H
#define TGPT_TEST_UNIT_FILES_TEMPORARYDIRECTORY_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace tgpt::runtime {

/// An empty directory, removed with all that is in it.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    std::string pattern = std::filesystem::temp_directory_path() / "tgpt-test-XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
  TemporaryDirectory(const TemporaryDirectory &) = delete;

  std::filesystem::path operator/(const std::string &name) const { return path / name; }
  const std::filesystem::path &getPath() const { return path; }

  std::filesystem::path write(const std::string &name, std::string_view bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return path / name;
  }
  std::string read(const std::string &name) const {
    std::ifstream in(path / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t entries() const { return std::distance(std::filesystem::directory_iterator(path), {}); }

private:
  std::filesystem::path path;
};

/// Runs `action` and returns the message of the Exception it throws; fails the test when it throws none.
template <typename Exception, typename Action> std::string messageOf(Action &&action) {
  try {
    action();
  } catch (const Exception &error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

} // namespace tgpt::runtime

#endif // TGPT_TEST_UNIT_FILES_TEMPORARYDIRECTORY_H
