//===- ThisMachine.h - what a calibration says of where and when it was made ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_CALIBRATION_THISMACHINE_H
#define TGPT_RUNTIME_CALIBRATION_THISMACHINE_H

#include <string>

namespace tgpt::runtime::calibration {

/// "AMD EPYC".
std::string processorName();
/// "2026-11-30".
std::string today();
/// A word for a cluster file: letters, digits, '_', '-' and '.'.
std::string wordOf(const std::string &text);
/// All of its memory.
double memoryBytes();

} // namespace tgpt::runtime::calibration

#endif // TGPT_RUNTIME_CALIBRATION_THISMACHINE_H
