//===- LlmcHeader.h - the header of llm.c's token files ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_DATA_LLMCHEADER_H
#define TGPT_RUNTIME_DATA_LLMCHEADER_H

#include <cstddef>
#include <cstdint>

namespace tgpt::runtime::llmc {

inline constexpr int32_t magicUint16 = 20240520;
inline constexpr int32_t versionUint16 = 1;
inline constexpr int32_t magicUint32 = 20240801;
inline constexpr int32_t versionUint32 = 7;
inline constexpr size_t headerWords = 256;
inline constexpr size_t headerBytes = headerWords * sizeof(int32_t);

} // namespace tgpt::runtime::llmc

#endif // TGPT_RUNTIME_DATA_LLMCHEADER_H
