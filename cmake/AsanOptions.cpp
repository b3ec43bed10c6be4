//===- AsanOptions.cpp - options of sanitized programs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's bump allocator poisons the memory of its slabs and unpoisons what it hands
// out, both in headers, where code is sanitized. Debian's libMLIR is not: what it
// takes from a slab that our code started stays poisoned, and reading it would be
// reported. So poisoning by hand is off; everything else stays checked.
//
//===----------------------------------------------------------------------===//

extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0";
}
