//===- AttentionOptions.h - whose kernels of attention run ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_CUDNN_ATTENTIONOPTIONS_H
#define TGPT_RUNTIME_KERNELS_CUDA_CUDNN_ATTENTIONOPTIONS_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace tgpt::runtime::cuda {

enum class AttentionChoice : uint8_t {
  Own,     ///< always ours
  Library, ///< the library's wherever it has one
  Measured ///< the faster one, by the time of the first call of each shape
};

struct AttentionOptions {
  AttentionChoice choice = AttentionChoice::Own;
  /// A call of the library takes no more workspace than this; one that needs more is ours.
  size_t mostWorkspaceBytes = size_t(512) << 20;
  std::function<void(const std::string &)> warn; ///< told where `Measured` has no library to measure
};

/// Of the process; set before ranks begin.
AttentionOptions &attentionOptions();

/// Calls since the process began, measurements apart; a GPU's replays of graphs are none.
struct AttentionCounts {
  std::atomic<int64_t> own = 0, library = 0;
};
AttentionCounts &attentionCounts();

/// Tells the options' `warn`, once, that attention is ours because there is no library: `why` is its error.
void warnOfMissingAttention(const std::string &why);

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUDNN_ATTENTIONOPTIONS_H
