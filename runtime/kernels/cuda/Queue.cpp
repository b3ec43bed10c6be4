//===- Queue.cpp - where a thread's device kernels run ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/Queue.h"

using namespace tgpt::runtime;

const char *cuda::describe(Fault fault) {
  switch (fault) {
  case Fault::None: return nullptr;
  case Fault::LabelBeyondVocabulary: return "cross_entropy: a label is not below the vocabulary size";
  case Fault::MicroBatchBeyondCount: return "accumulate_tree: the micro-batch's number is not below their count";
  }
  return "a kernel left an unknown fault";
}

cuda::Queue &cuda::queue() {
  static thread_local Queue own;
  return own;
}
