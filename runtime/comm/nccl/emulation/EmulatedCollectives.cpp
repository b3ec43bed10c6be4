//===- EmulatedCollectives.cpp - collectives through staging areas ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective goes through the staging areas piece by piece: write, meet, read, meet. A
// reduction adds as a ring does, each part of the result from another rank on, rounded
// after every addition, so that nothing can rely on the order of the members.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/ReduceRange.h"
#include "runtime/comm/nccl/emulation/EmulatedComm.h"
#include "runtime/kernels/api/BFloat16.h"
#include "runtime/kernels/api/Float16.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace tgpt::runtime;

/// Whether all members do the same, seen after a meeting at which each has said what it does.
bool EmulatedComm::agree(const EmulatedWork &work) {
  for (int r = 0; r < ranks; ++r)
    if (const EmulatedCall &theirs = segment->slot(r).call; theirs != work.call) {
      setError(NcclResult::InvalidUsage, "rank " + std::to_string(rank) + " of the communicator does " +
                                             work.call.describe() + ", rank " + std::to_string(r) + " does " +
                                             theirs.describe());
      hang();
      return false;
    }
  return true;
}

void EmulatedComm::runCollective(const EmulatedWork &work) {
  if (aborted.load())
    return;
  segment->slot(rank).call = work.call;
  if (!meet(&EmulatedSegment::Slot::arrivals) || !agree(work))
    return;
  switch (work.call.kind) {
  case EmulatedKind::AllReduce: return allReduce(work);
  case EmulatedKind::ReduceScatter: return reduceScatter(work);
  case EmulatedKind::AllGather: return allGather(work);
  case EmulatedKind::Broadcast: return broadcast(work);
  default: return;
  }
}

static double valueOf(float x) {
  return x;
}
static double valueOf(double x) {
  return x;
}
static double valueOf(int32_t x) {
  return x;
}
static double valueOf(BFloat16 x) {
  return toFloat(x);
}
static double valueOf(Float16 x) {
  return toFloat(x);
}

/// A number is more than a NaN, as fmax has it.
template <typename T> static void keepMax(std::byte *most, const std::byte *others, size_t count) {
  auto *to = reinterpret_cast<T *>(most);
  auto *from = reinterpret_cast<const T *>(others);
  for (size_t i = 0; i < count; ++i)
    if (double value = valueOf(from[i]); value > valueOf(to[i]) || std::isnan(valueOf(to[i])))
      to[i] = from[i];
}

static void keepMaxOf(DType dtype, std::byte *most, const std::byte *others, size_t count) {
  switch (dtype) {
  case DType::F64: return keepMax<double>(most, others, count);
  case DType::F32: return keepMax<float>(most, others, count);
  case DType::BF16: return keepMax<BFloat16>(most, others, count);
  case DType::F16: return keepMax<Float16>(most, others, count);
  case DType::I32: return keepMax<int32_t>(most, others, count);
  }
}

/// Reduces `count` elements at element `at` of everybody's staging area into `to`, from the rank after `part` on.
void EmulatedComm::reduceRing(const EmulatedWork &work, size_t part, size_t at, size_t count, std::byte *to) {
  DType dtype = dtypeOf(work.call.type);
  size_t element = sizeInBytes(dtype);
  auto stagedBy = [&](size_t r) { return segment->slot(static_cast<int64_t>(r % ranks)).staging + at * element; };
  std::memcpy(to, stagedBy(part + 1), count * element);
  void *output = to;
  for (size_t i = 2; i <= static_cast<size_t>(ranks); ++i) {
    const void *inputs[] = {to, stagedBy(part + i)};
    if (work.call.operation == NcclOperation::Max)
      keepMaxOf(dtype, to, stagedBy(part + i), count);
    else
      reduceRange(dtype, Reduction::Sum, inputs, 0, {&output, 1}, 0, static_cast<int64_t>(count));
  }
}

void EmulatedComm::allReduce(const EmulatedWork &work) {
  size_t element = sizeInBytes(dtypeOf(work.call.type)), all = work.call.count;
  size_t piece = EmulatedSegment::stagingBytes / element, part = (all + ranks - 1) / ranks;
  for (size_t at = 0; at < all; at += piece) {
    size_t count = std::min(piece, all - at);
    std::memcpy(segment->slot(rank).staging, work.from + at * element, count * element);
    if (!meet(&EmulatedSegment::Slot::arrivals))
      return;
    for (size_t begin = at; begin < at + count;) { // parts begin at other ranks
      size_t end = std::min(at + count, (begin / part + 1) * part);
      reduceRing(work, begin / part, begin - at, end - begin, work.to + begin * element);
      begin = end;
    }
    if (!meet(&EmulatedSegment::Slot::arrivals))
      return;
  }
}

void EmulatedComm::reduceScatter(const EmulatedWork &work) {
  size_t element = sizeInBytes(dtypeOf(work.call.type)), all = work.call.count;
  size_t piece = EmulatedSegment::stagingBytes / element / ranks;
  for (size_t at = 0; at < all; at += piece) {
    size_t count = std::min(piece, all - at);
    for (int r = 0; r < ranks; ++r)
      std::memcpy(segment->slot(rank).staging + r * count * element, work.from + (r * all + at) * element,
                  count * element);
    if (!meet(&EmulatedSegment::Slot::arrivals))
      return;
    reduceRing(work, rank, rank * count, count, work.to + at * element);
    if (!meet(&EmulatedSegment::Slot::arrivals))
      return;
  }
}

void EmulatedComm::allGather(const EmulatedWork &work) {
  size_t bytes = work.call.count * sizeInBytes(dtypeOf(work.call.type));
  for (size_t at = 0; at < bytes; at += EmulatedSegment::stagingBytes) {
    size_t count = std::min(EmulatedSegment::stagingBytes, bytes - at);
    std::memcpy(segment->slot(rank).staging, work.from + at, count);
    if (!meet(&EmulatedSegment::Slot::arrivals))
      return;
    for (int r = 0; r < ranks; ++r)
      std::memcpy(work.to + r * bytes + at, segment->slot(r).staging, count);
    if (!meet(&EmulatedSegment::Slot::arrivals))
      return;
  }
}

void EmulatedComm::broadcast(const EmulatedWork &work) {
  size_t bytes = work.call.count * sizeInBytes(dtypeOf(work.call.type));
  for (size_t at = 0; at < bytes; at += EmulatedSegment::stagingBytes) {
    size_t count = std::min(EmulatedSegment::stagingBytes, bytes - at);
    if (rank == work.call.peer)
      std::memcpy(segment->slot(rank).staging, work.from + at, count);
    if (!meet(&EmulatedSegment::Slot::arrivals))
      return;
    std::memcpy(work.to + at, segment->slot(work.call.peer).staging, count);
    if (!meet(&EmulatedSegment::Slot::arrivals))
      return;
  }
}
