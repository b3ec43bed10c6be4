//===- Fiber.h - a stack of its own to run on -------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_EMULATION_FIBER_H
#define TGPT_RUNTIME_KERNELS_CUDA_EMULATION_FIBER_H

#include <cstddef>
#include <memory>

namespace tgpt::emulation {

/// Runs functions one after the other on a stack of its own. A function may leave in its
/// middle and be resumed there; it throws nothing.
class Fiber {
public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber &) = delete;

  /// Begins `function` and comes back when it leaves or ends.
  void start(void (*function)());
  /// Goes on where the function left.
  void resume();
  /// From within the function: back to who called start or resume.
  void leave();
  bool isDone() const;
  /// Forgets a function that left and will not be resumed.
  void abandon();

  struct State;

private:
  std::unique_ptr<State> state;
};

} // namespace tgpt::emulation

#endif // TGPT_RUNTIME_KERNELS_CUDA_EMULATION_FIBER_H
