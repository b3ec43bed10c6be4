//===- NcclApi.h - the functions of NCCL that are used ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table of the library's functions under its own meaning: NcclLibrary.h loads the real
// one, emulation/EmulatedNccl.h runs over host memory and checks how it is used. Numbers
// are those of nccl.h (NcclLibrary.cpp asserts it), so this header needs no toolkit.
// A stream is a cudaStream_t, or one of the emulated device.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_NCCL_NCCLAPI_H
#define TGPT_RUNTIME_COMM_NCCL_NCCLAPI_H

#include "runtime/kernels/api/Kernel.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace tgpt::runtime {

enum class NcclResult : int {
  Success = 0,
  UnhandledCudaError = 1,
  SystemError = 2,
  InternalError = 3,
  InvalidArgument = 4,
  InvalidUsage = 5,
  RemoteError = 6,
  InProgress = 7,
};

enum class NcclType : int { Int32 = 2, Float16 = 6, Float32 = 7, Float64 = 8, BFloat16 = 9 };
enum class NcclOperation : int { Sum = 0, Max = 2 };

/// An ncclComm_t.
using NcclComm = struct NcclCommHandle *;

/// What the ranks of a communicator agree on before it is there.
struct NcclUniqueId {
  char bytes[128];
};

struct NcclConfig {
  bool isBlocking = false;
  int mostBlocks = 0;         ///< thread blocks of a kernel, at most; 0: as the library thinks
  const char *name = nullptr; ///< in the library's own log
};

/// split(): the caller is in no new communicator.
inline constexpr int ncclNoColor = -1;

class NcclApi {
public:
  virtual ~NcclApi() = default;

  virtual NcclResult version(int *version) = 0;
  virtual NcclResult uniqueId(NcclUniqueId *id) = 0;
  virtual NcclResult initRank(NcclComm *comm, int ranks, const NcclUniqueId &id, int rank,
                              const NcclConfig &config) = 0;
  virtual NcclResult split(NcclComm comm, int color, int key, NcclComm *part, const NcclConfig &config) = 0;
  virtual NcclResult members(NcclComm comm, int *ranks, int *own) = 0;
  virtual NcclResult finalize(NcclComm comm) = 0;
  virtual NcclResult destroy(NcclComm comm) = 0;
  virtual NcclResult abort(NcclComm comm) = 0;
  virtual NcclResult asyncError(NcclComm comm, NcclResult *error) = 0;

  virtual NcclResult allReduce(const void *from, void *to, size_t count, NcclType type, NcclOperation operation,
                               NcclComm comm, void *stream) = 0;
  virtual NcclResult reduceScatter(const void *from, void *to, size_t countOfPart, NcclType type,
                                   NcclOperation operation, NcclComm comm, void *stream) = 0;
  virtual NcclResult allGather(const void *from, void *to, size_t countOfPart, NcclType type, NcclComm comm,
                               void *stream) = 0;
  virtual NcclResult broadcast(const void *from, void *to, size_t count, NcclType type, int root, NcclComm comm,
                               void *stream) = 0;
  virtual NcclResult send(const void *from, size_t count, NcclType type, int peer, NcclComm comm, void *stream) = 0;
  virtual NcclResult receive(void *to, size_t count, NcclType type, int peer, NcclComm comm, void *stream) = 0;
  virtual NcclResult groupStart() = 0;
  virtual NcclResult groupEnd() = 0;
  /// After calls that enqueue. The library's work runs by itself; an emulation, whose calls come when the stream is
  /// there, does here what they have enqueued, and returns when it is done.
  virtual void runEnqueued() {}

  /// What the library says of the last error of this process beyond its code; perhaps nothing.
  virtual std::string lastError(NcclComm comm) = 0;
};

/// "ncclInvalidUsage".
const char *name(NcclResult result);

/// NCCL knows all dtypes of a plan.
NcclType ncclTypeOf(DType dtype);
DType dtypeOf(NcclType type);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_NCCL_NCCLAPI_H
