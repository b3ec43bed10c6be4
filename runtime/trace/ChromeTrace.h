//===- ChromeTrace.h - events as Chrome and Perfetto read them ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The JSON of ui.perfetto.dev and chrome://tracing: complete events ("ph": "X") with times
// in microseconds, a process for each rank and in it a thread for each stream. What an
// event is of (segment, micro-batch, model line, operations, bytes, group) is in its args.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_TRACE_CHROMETRACE_H
#define TGPT_RUNTIME_TRACE_CHROMETRACE_H

#include "runtime/trace/InstructionEvent.h"

#include <filesystem>
#include <span>

namespace tgpt::runtime {

/// Writes events of a plan, atomically; times begin at 0 with the earliest. `source` is "measured" or "simulated".
void writeChromeTrace(const std::filesystem::path &path, const plan::Plan &plan,
                      std::span<const InstructionEvent> events, const std::string &source);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRACE_CHROMETRACE_H
