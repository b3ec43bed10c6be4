//===- AtomicFile.cpp - a file that appears whole or not at all -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/files/AtomicFile.h"

#include "runtime/plan/Error.h"

#include <unistd.h>

using namespace tgpt::runtime;
namespace fs = std::filesystem;

static fs::path temporaryFor(const fs::path &path) {
  auto refuse = [&](const std::string &why) { throw Error("cannot create '" + path.string() + "': " + why); };
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    refuse("it is a directory");
  // A rename would put a file in the place of a device or pipe.
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    refuse("it is not a regular file");
  if (path.has_parent_path() && !fs::exists(path.parent_path(), ignored))
    refuse("No such file or directory");
  fs::path temporary = path;
  temporary += ".tmp-" + std::to_string(::getpid());
  return temporary;
}

AtomicFile::AtomicFile(fs::path path)
    : path(std::move(path)), temporary(temporaryFor(this->path)), file(FileDescriptor::create(temporary, this->path)) {}

AtomicFile::~AtomicFile() {
  if (!committed)
    ::unlink(temporary.c_str());
}

void AtomicFile::append(std::span<const std::byte> bytes) {
  file.writeAt(end, bytes);
  end += bytes.size();
}

void AtomicFile::commit() {
  file.sync();
  file.close();
  std::error_code error;
  fs::rename(temporary, path, error);
  if (error)
    throw Error("cannot create '" + path.string() + "': " + error.message());
  committed = true;
  syncDirectory(path.parent_path());
}

void tgpt::runtime::writeTextAtomically(const fs::path &path, std::string_view text) {
  AtomicFile file(path);
  file.append(std::as_bytes(std::span(text)));
  file.commit();
}
