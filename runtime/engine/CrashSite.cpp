//===- CrashSite.cpp - what a thread that crashes leaves behind -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AddressSanitizer has handlers of its own, which say more: they stay.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/CrashSite.h"

#include <csignal>
#include <memory>
#include <mutex>
#include <sys/syscall.h>
#include <unistd.h>

using namespace tgpt::runtime;

static constexpr int crashSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static constexpr size_t stackBytes = 65536;

/// AddressSanitizer has handlers of its own, which tell more.
#if defined(__SANITIZE_ADDRESS__)
static constexpr bool hasHandlers = false;
#else
static constexpr bool hasHandlers = true;
#endif

static thread_local const CrashSite *siteOfThread = nullptr;
static std::atomic<const CrashSite *> lastSite{nullptr}; // of any thread

static bool isMainThread() {
  return ::syscall(SYS_gettid) == ::getpid();
}

/// The signal comes again at once, and now ends the process.
static void takeItsCourse(int signal) {
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

static void onCrash(int signal) {
  const CrashSite *site = siteOfThread;
  const CrashSite *other = lastSite.load();
  if (!site && (!other || (isMainThread() && !other->endsProcess)))
    return takeItsCourse(signal);
  const CrashSite &where = site ? *site : *other;
  bool isKnown = site || where.endsProcess;
  where.world->noteCrash(isKnown ? where.waiter : SharedMemoryWorld::noWaiter, signal);
  if (where.endsProcess)
    return takeItsCourse(signal);
  while (true)
    ::pause(); // the process ends around this thread
}

static void installHandlers() {
  struct sigaction action = {};
  action.sa_handler = onCrash;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (int signal : crashSignals)
    ::sigaction(signal, &action, nullptr);
}

namespace {
/// A stack for the handler: that of the thread may be what ran over.
struct HandlerStack {
  HandlerStack() : bytes(new char[stackBytes]) {
    stack_t stack = {};
    stack.ss_sp = bytes.get();
    stack.ss_size = stackBytes;
    ::sigaltstack(&stack, nullptr);
  }
  ~HandlerStack() {
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }
  std::unique_ptr<char[]> bytes;
};
} // namespace

void tgpt::runtime::enterCrashSite(const CrashSite &site) {
  if constexpr (hasHandlers) {
    static std::once_flag once;
    std::call_once(once, installHandlers);
    static thread_local HandlerStack stack;
  }
  siteOfThread = &site;
  lastSite.store(&site);
}

void tgpt::runtime::forgetCrashSite(const CrashSite &site) {
  const CrashSite *last = &site;
  lastSite.compare_exchange_strong(last, nullptr);
}

void tgpt::runtime::forgetCrashSites(const SharedMemoryWorld &world) {
  const CrashSite *last = lastSite.load();
  if (last && last->world == &world)
    lastSite.compare_exchange_strong(last, nullptr);
}
