//===- Fiber.cpp - a stack of its own to run on -----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On x86-64 a switch is twelve instructions; swapcontext, used elsewhere, asks the
// kernel for the signal mask each time and is 50 times slower. AddressSanitizer is told
// of every switch, or it would take the other stack for an overflow.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/emulation/Fiber.h"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
static constexpr size_t stackBytes = 256 << 10; // frames are larger there
#else
static constexpr size_t stackBytes = 64 << 10;
#endif

#if defined(__x86_64__)
/// Saves the running stack in *from and goes on with the one at `to`.
extern "C" void tgptEmulationSwitch(void **from, void *to);
asm(R"(
.pushsection .text
.globl tgptEmulationSwitch
.hidden tgptEmulationSwitch
.type tgptEmulationSwitch, @function
tgptEmulationSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tgptEmulationSwitch, .-tgptEmulationSwitch
.popsection
)");
#else
#include <ucontext.h>
#endif

using namespace tgpt::emulation;

struct Fiber::State {
  char *stack = nullptr;
  bool done = true;
  void (*function)() = nullptr;
#if defined(__x86_64__)
  void *own = nullptr, *caller = nullptr;
#else
  ucontext_t own, caller;
#endif
#if defined(__SANITIZE_ADDRESS__)
  void *ownFake = nullptr, *callerFake = nullptr;
  const void *callerStack = nullptr;
  size_t callerStackBytes = 0;
#endif

  void enter();
  void back(bool isLast);
  static void main();
};

/// The fiber that main() is to run: fibers of a thread are started one at a time.
static thread_local Fiber::State *starting = nullptr;

#if defined(__SANITIZE_ADDRESS__)
/// From the heap: what was forbidden around the variables of an abandoned function is
/// allowed again when its stack is freed and another taken.
static char *takeStack() {
  void *memory = std::aligned_alloc(64, stackBytes);
  if (!memory)
    throw std::bad_alloc();
  return static_cast<char *>(memory);
}
static void giveStack(char *stack) {
  std::free(stack);
}
#else
static char *takeStack() {
  void *memory = mmap(nullptr, stackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
  return static_cast<char *>(memory);
}
static void giveStack(char *stack) {
  munmap(stack, stackBytes);
}
#endif

Fiber::Fiber() : state(std::make_unique<State>()) {
  state->stack = takeStack();
}

Fiber::~Fiber() {
  giveStack(state->stack);
}

bool Fiber::isDone() const {
  return state->done;
}

void Fiber::abandon() {
  state->done = true;
#if defined(__SANITIZE_ADDRESS__)
  giveStack(std::exchange(state->stack, nullptr));
  state->stack = takeStack();
#endif
}

void Fiber::State::main() {
  State *self = starting;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &self->callerStack, &self->callerStackBytes);
#endif
  self->function();
  self->done = true;
  self->back(true);
  std::abort(); // an ended function is not resumed
}

void Fiber::State::enter() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&callerFake, stack, stackBytes);
#endif
#if defined(__x86_64__)
  tgptEmulationSwitch(&caller, own);
#else
  swapcontext(&caller, &own);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(callerFake, nullptr, nullptr);
#endif
}

void Fiber::State::back(bool isLast) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(isLast ? nullptr : &ownFake, callerStack, callerStackBytes);
#endif
#if defined(__x86_64__)
  tgptEmulationSwitch(&own, caller);
#else
  swapcontext(&own, &caller);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(ownFake, &callerStack, &callerStackBytes);
#endif
}

void Fiber::start(void (*function)()) {
  state->function = function;
  state->done = false;
  starting = state.get();
#if defined(__x86_64__)
  // As a call of main() would have left it, under six registers.
  auto *top = reinterpret_cast<uintptr_t *>(state->stack + stackBytes);
  top[-1] = 0;
  top[-2] = reinterpret_cast<uintptr_t>(&State::main);
  for (int i = 3; i <= 8; ++i)
    top[-i] = 0;
  state->own = top - 8;
#else
  getcontext(&state->own);
  state->own.uc_stack.ss_sp = state->stack;
  state->own.uc_stack.ss_size = stackBytes;
  state->own.uc_link = nullptr;
  makecontext(&state->own, &State::main, 0);
#endif
  state->enter();
}

void Fiber::resume() {
  state->enter();
}

void Fiber::leave() {
  state->back(false);
}
