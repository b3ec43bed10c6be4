//===- CrashSite.h - what a thread that crashes leaves behind ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A signal such as SIGSEGV in a rank's thread is noted in the world before anything ends.
// Where ranks are threads the crashed one then stands still, and the thread that watches
// ends the job and says where all ranks were; where they are processes the signal takes
// its course, and the other processes say so. Only what is safe in a signal handler is
// done in one.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_CRASHSITE_H
#define TGPT_RUNTIME_ENGINE_CRASHSITE_H

#include "runtime/comm/SharedMemoryWorld.h"

#include <cstdint>

namespace tgpt::runtime {

struct CrashSite {
  SharedMemoryWorld *world = nullptr;
  int64_t waiter = 0;
  bool endsProcess = false;
};

/// From now on a crash of this thread is one of `site`, which outlives the thread's work. The first call in a process
/// installs the handlers. A thread without a site that is not the main one counts as a helper of some rank: as
/// `noWaiter`, or as the rank of the process.
void enterCrashSite(const CrashSite &site);
/// When the one thread that entered `site` has ended, and the site goes.
void forgetCrashSite(const CrashSite &site);
/// When the threads that entered sites of this world have ended.
void forgetCrashSites(const SharedMemoryWorld &world);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_CRASHSITE_H
