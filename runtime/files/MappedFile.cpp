//===- MappedFile.cpp - a file seen as memory -------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/files/MappedFile.h"

#include "runtime/files/FileDescriptor.h"
#include "runtime/plan/Error.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <utility>

using namespace tgpt::runtime;

MappedFile::MappedFile(const std::filesystem::path &path) {
  FileDescriptor file = FileDescriptor::openToRead(path);
  size_t size = file.sizeInBytes();
  if (size == 0) // an empty map is not a thing
    return;
  void *address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED)
    throw Error("cannot map '" + path.string() + "': " + std::strerror(errno));
  mapped = {static_cast<const std::byte *>(address), size};
}

MappedFile::MappedFile(MappedFile &&other) noexcept : mapped(std::exchange(other.mapped, {})) {}

MappedFile::~MappedFile() {
  if (!mapped.empty())
    ::munmap(const_cast<std::byte *>(mapped.data()), mapped.size());
}
