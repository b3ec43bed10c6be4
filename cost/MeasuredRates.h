//===- MeasuredRates.h - how fast the kernels of a machine are, as measured ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `tgpt-run --calibrate` measures and the roofline of a data sheet cannot know: each
// kernel by itself, each collective between threads, the start and end of a step. The
// time of a call is a sum of parts, none of them negative:
//
//   kernel      pieces x per call + operations x per operation + bytes x per byte + items x per item
//   collective  latency + bytes of the whole tensor x per byte, for a number of ranks
//
// Items are what an inner loop is entered for: results of a product, scores of attention,
// rows of everything else. A call is one piece; one of attention is a piece for each block of
// a KV head of a sample (runtime/kernels/api/CallSize.h).
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_MEASUREDRATES_H
#define TGPT_COST_MEASUREDRATES_H

#include "cost/DeviceProfile.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tgpt::cost {

/// What the time of a kernel call grows with.
struct CallSize {
  double operations = 0; ///< of products and attention; else 0
  double bytes = 0;      ///< of all operands, each once
  double items = 0;
  double pieces = 1; ///< that each have a start of their own
};

struct KernelRate {
  double callSeconds = 0;
  double secondsPerOperation = 0;
  double secondsPerByte = 0;
  double secondsPerItem = 0;

  double seconds(const CallSize &size) const {
    return size.pieces * callSeconds + size.operations * secondsPerOperation + size.bytes * secondsPerByte +
           size.items * secondsPerItem;
  }
  bool operator==(const KernelRate &) const = default;
};

/// A collective among `ranks` ranks, or a message (ranks 2).
struct ExchangeRate {
  double ranks = 2;
  double latencySeconds = 0;
  double secondsPerByte = 0;

  bool operator==(const ExchangeRate &) const = default;
};

struct MeasuredRates {
  /// Rates of a kernel by dtype; none where it was not measured in a dtype.
  using ByDtype = std::array<std::optional<KernelRate>, dtypeNames.size()>;

  double stepSeconds = 0;     ///< start and end of a step of one rank
  double stepRankSeconds = 0; ///< more for each further rank
  double busyCoresShare = 0;  ///< that kernels take longer while all other cores compute as well: caches and memory
  std::map<std::string, ByDtype, std::less<>> kernels;
  std::map<std::string, std::vector<ExchangeRate>, std::less<>> exchanges; ///< by name, numbers of ranks ascending

  /// Of a call of `kernel`; none where it was not measured.
  std::optional<double> kernelSeconds(std::string_view kernel, Dtype dtype, const CallSize &size) const;
  /// Of `all_reduce`, `all_gather`, `reduce_scatter`, `all_to_all` or `send`; between measured numbers of ranks linear
  /// in the logarithm of the ranks, beyond them in proportion to the ranks.
  std::optional<double> exchangeSeconds(std::string_view exchange, double ranks, double bytes) const;
  /// How fast kernels are on `busy` of a node's cores, to one core alone: linear in the others that compute.
  double rateOfBusyCores(double busy, double cores) const {
    return cores > 1 ? 1 / (1 + busyCoresShare * std::clamp((busy - 1) / (cores - 1), 0.0, 1.0)) : 1;
  }
  double secondsOfStep(double ranks) const { return stepSeconds + (ranks - 1) * stepRankSeconds; }

  bool operator==(const MeasuredRates &) const = default;
};

/// The exchanges that a file may hold.
const std::vector<std::string> &exchangeNames();

/// What is wrong with a rate, as "expected ..."; empty where nothing is.
std::string faultOfRate(double figure);

} // namespace tgpt::cost

#endif // TGPT_COST_MEASUREDRATES_H
