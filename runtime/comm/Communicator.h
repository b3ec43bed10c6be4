//===- Communicator.h - collectives and messages ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the engine asks of a communication backend. Tensors are row-major; a
// collective along a dimension cuts or joins that dimension. Reductions add in
// the order of the member index, or as Reduction::TreeSum says, so the same inputs
// give the same bits whatever the timing; bf16 and f16 are added in f32 and rounded
// once. Shapes are checked when a
// plan is loaded, not here.
//
// In place: allReduce takes the same buffer as input and output; allGather and
// reduceScatter along dimension 0 take this member's own part of the large
// tensor as the small one. Any other overlap is not allowed.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_COMMUNICATOR_H
#define TGPT_RUNTIME_COMM_COMMUNICATOR_H

#include "runtime/kernels/api/Kernel.h"

#include <cstdint>

namespace tgpt::runtime {

/// TreeSum adds as kernels/api/SumTree.h does: over ranks that hold equal parts of a sum
/// it is the sum of one rank that holds them all.
enum class Reduction : uint8_t { Sum, Max, TreeSum };

/// One rank's membership in one group. Calls are collective: every member makes
/// the same calls in the same order. Each call returns when the output of this
/// member is complete and its input may be changed; it throws Error when the job
/// is stuck and JobAborted when another rank failed.
class Communicator {
public:
  virtual ~Communicator() = default;
  virtual int64_t size() const = 0;
  virtual int64_t index() const = 0;

  virtual void allReduce(const TensorView &input, const TensorView &output, Reduction reduction) = 0;
  virtual void allGather(const TensorView &input, const TensorView &output, int dim) = 0;
  virtual void reduceScatter(const TensorView &input, const TensorView &output, int dim,
                             Reduction reduction = Reduction::Sum) = 0;
  /// Cuts the input along `splitDim`, sends part i to member i, joins what
  /// arrives along `concatDim` in member order.
  virtual void allToAll(const TensorView &input, const TensorView &output, int splitDim, int concatDim) = 0;
  virtual void barrier() = 0;
};

/// The sending end of a channel; waits while all message buffers are taken.
class Sender {
public:
  virtual ~Sender() = default;
  virtual void send(const TensorView &message) = 0;
};

/// The receiving end; messages arrive in the order they were sent.
class Receiver {
public:
  virtual ~Receiver() = default;
  virtual void receive(const TensorView &message) = 0;
};

/// Thrown out of a wait because another rank failed first. Not an Error: the
/// rank that failed carries the message.
struct JobAborted {};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_COMMUNICATOR_H
