//===- Queue.h - where a thread's device kernels run ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel call has no stream: like the workspaces of the cpu kernels, it belongs to the
// calling thread. A backend binds its queue before it calls; a call that has returned is
// enqueued, not done. Data that only the device sees can be wrong too (a label beyond
// the vocabulary): such a fault is a word in device memory, read when the step ends.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_QUEUE_H
#define TGPT_RUNTIME_KERNELS_CUDA_QUEUE_H

#include "cost/KernelWorkspace.h"
#include "runtime/kernels/api/Kernel.h"

namespace tgpt::runtime::cuda {

/// What a fault word says; 0 is none. The first one stays.
enum class Fault : int32_t { None, LabelBeyondVocabulary, MicroBatchBeyondCount };

/// "cross_entropy: a label is not below the vocabulary size"; null for none.
const char *describe(Fault fault);

struct Queue {
  void *stream = nullptr;    ///< cudaStream_t
  void *workspace = nullptr; ///< what the plan gives the call: device memory, 256-byte aligned
  size_t workspaceBytes = 0; ///< at least what DeviceKernel::workspaceBytes asks for
  int32_t *fault = nullptr;  ///< a Fault in device memory
  void *beside = nullptr;    ///< device memory for libraries, beside the plan's arena, 256-byte aligned
  size_t besideBytes = 0;    ///< at least DeviceKernel::libraryBytes where the workspace has less

  /// Where a library has so many bytes; null where there is neither.
  void *forLibrary(size_t bytes) const {
    return workspaceBytes >= bytes ? workspace : besideBytes >= bytes ? beside : nullptr;
  }
};

/// This thread's queue.
Queue &queue();

/// Hands out a call's workspace piece by piece, each 256-byte aligned.
class Scratch {
public:
  /// Null when the queue's workspace is smaller than the kernel asked for.
  template <typename T> T *take(int64_t elements) {
    size_t begin = used;
    used += roundUp(size_t(elements) * sizeof(T));
    return used <= queue().workspaceBytes ? reinterpret_cast<T *>(static_cast<char *>(queue().workspace) + begin)
                                          : nullptr;
  }
  static size_t roundUp(size_t bytes) { return size_t(cost::workspacePiece(int64_t(bytes), 1)); }

private:
  size_t used = 0;
};

inline constexpr const char *workspaceTooSmall = "the queue's workspace is smaller than the kernel asks for";

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_QUEUE_H
