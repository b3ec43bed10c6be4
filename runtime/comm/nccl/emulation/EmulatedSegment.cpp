//===- EmulatedSegment.cpp - what ranks of an emulated communicator share -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unique id names a memfd through /proc: "tgpt-emulated PID DESCRIPTOR".
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/nccl/emulation/EmulatedSegment.h"
#include "runtime/plan/Error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace tgpt::runtime;

std::string EmulatedCall::describe() const {
  static constexpr const char *names[] = {"nothing",   "all_reduce", "reduce_scatter", "all_gather",
                                          "broadcast", "send",       "receive"};
  bool reduces = kind == EmulatedKind::AllReduce || kind == EmulatedKind::ReduceScatter;
  std::string text = names[static_cast<int>(kind)];
  if (kind == EmulatedKind::None)
    return text;
  if (reduces)
    text += operation == NcclOperation::Max ? " max" : " sum";
  text += " of " + std::to_string(count) + " " + std::string(tgpt::runtime::name(dtypeOf(type)));
  if (kind == EmulatedKind::Broadcast)
    text += " from " + std::to_string(peer);
  if (isCaptured)
    text += " in a graph";
  return text;
}

[[noreturn]] static void failSegment(const std::string &what) {
  throw Error(what + ": " + std::strerror(errno));
}

NcclUniqueId EmulatedSegment::make(int &descriptor) {
  descriptor = ::memfd_create("tgpt-emulated-nccl", MFD_CLOEXEC);
  if (descriptor < 0)
    failSegment("cannot make memory for an emulated communicator");
  NcclUniqueId id{};
  std::snprintf(id.bytes, sizeof(id.bytes), "tgpt-emulated %d %d", static_cast<int>(::getpid()), descriptor);
  return id;
}

EmulatedSegment::EmulatedSegment(const NcclUniqueId &id, int64_t ranks) : ranks(ranks) {
  int pid = 0, number = 0;
  std::string text(id.bytes, ::strnlen(id.bytes, sizeof(id.bytes)));
  if (std::sscanf(text.c_str(), "tgpt-emulated %d %d", &pid, &number) != 2)
    throw Error("this is no unique id of an emulated communicator");
  std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(number);
  int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0)
    failSegment("cannot find the emulated communicator of '" + text + "'");
  void *mapped = MAP_FAILED;
  if (::ftruncate(file, static_cast<off_t>(bytes())) == 0)
    mapped = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  int error = errno;
  ::close(file);
  errno = error;
  if (mapped == MAP_FAILED)
    failSegment("cannot map an emulated communicator of " + std::to_string(ranks) + " ranks");
  memory = static_cast<std::byte *>(mapped);
}

EmulatedSegment::~EmulatedSegment() {
  if (memory)
    ::munmap(memory, bytes());
}
