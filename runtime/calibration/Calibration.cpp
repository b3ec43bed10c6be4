//===- Calibration.cpp - measures this machine ----------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/calibration/Calibration.h"

#include "runtime/calibration/ExchangeSamples.h"
#include "runtime/calibration/FitRate.h"
#include "runtime/calibration/KernelSamples.h"
#include "runtime/calibration/ProbeCalls.h"
#include "runtime/calibration/RoundFigures.h"
#include "runtime/calibration/ThisMachine.h"
#include "runtime/kernels/api/CallSize.h"
#include "runtime/kernels/bench/CallOperands.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <thread>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::calibration;

namespace {
/// The dtypes of the cpu kernels, and about what share of the time each takes.
struct MeasuredDtype {
  DType dtype;
  double share;
};
constexpr MeasuredDtype measuredDtypes[] = {
    {DType::F64, 0.30}, {DType::F32, 0.2}, {DType::BF16, 0.15}, {DType::F16, 0.15}};

struct MeasuredCall {
  Workload workload;
  DType compute; ///< of the step that makes it
  std::string kernel;
  cost::Dtype dtype;
  cost::CallSize size;
  std::vector<double> seconds = {}; ///< of all rounds
  Sample sample = {};
};

/// Measures in order; each part leaves its figures in the result.
class Measurement {
public:
  explicit Measurement(const CalibrationOptions &options) : options(options) {}
  Calibration run();

private:
  void describeMachine();
  void measurePeaks();
  void measureMemory();
  void listCalls();
  void measureCalls(DType compute, const SampleBudget &budget);
  void measureKernels();
  void measureExchanges();
  void measureStep();
  void measureBusyCores();
  void fitKernels();
  void setDeviceCurves();
  void advance(const std::string &what, double share);
  SampleBudget budget(double seconds) const;

  const CalibrationOptions &options;
  Calibration result;
  double done = 0, next = 0; // shares of all
  std::vector<MeasuredCall> calls;
};
} // namespace

void Measurement::advance(const std::string &what, double share) {
  done = next;
  next += share;
  options.onProgress(what, done);
}

SampleBudget Measurement::budget(double seconds) const {
  SampleBudget budget;
  budget.seconds = options.isQuick ? seconds / 10 : seconds;
  if (options.isQuick)
    budget.least = budget.most = 3;
  return budget;
}

static std::string nameOf(cost::Dtype dtype) {
  return cost::dtypeNames[static_cast<size_t>(dtype)];
}

/// The share of a peak by size, from rates by size, of which several may have one size.
static cost::EfficiencyCurve curveOf(std::vector<std::pair<double, double>> rates, double peak) {
  std::sort(rates.begin(), rates.end());
  cost::EfficiencyCurve curve;
  for (size_t i = 0; i < rates.size();) {
    double size = rates[i].first, sum = 0;
    size_t first = i;
    for (; i < rates.size() && rates[i].first == size; ++i)
      sum += rates[i].second;
    double share = sum / static_cast<double>(i - first) / peak;
    curve.points.push_back({size, std::clamp(share, 1e-4, 1.0)});
  }
  return curve;
}

/// The spread is a mean over the calls, whose number grows.
static void addTo(Quality &quality, const Sample &sample) {
  ++quality.calls;
  quality.spread += (sample.spread - quality.spread) / quality.calls;
  quality.repetitions = quality.calls == 1 ? sample.count : std::min(quality.repetitions, sample.count);
}

void Measurement::measurePeaks() {
  std::map<double, std::vector<double>> shares; // by operations, one for each dtype
  cost::DeviceProfile &device = result.cluster.device;
  for (auto [dtype, share] : measuredDtypes) {
    std::vector<std::pair<double, double>> rates;
    for (const Workload &call : squareProducts(dtype, options.isQuick)) {
      Sample sample = sampleKernel(call, budget(0.05));
      addTo(result.device, sample);
      rates.push_back({call.flops, call.flops / sample.seconds});
    }
    double peak = 0;
    for (auto [flops, rate] : rates)
      peak = std::max(peak, rate);
    device.matrixFlopsPerSecond.figures[static_cast<size_t>(dtype)] = peak;
    for (auto [flops, rate] : rates)
      shares[flops].push_back(rate / peak);
  }
  for (const auto &[flops, ofDtypes] : shares) {
    double sum = 0;
    for (double share : ofDtypes)
      sum += share;
    device.matrixEfficiency.points.push_back(
        {flops, std::clamp(sum / static_cast<double>(ofDtypes.size()), 1e-4, 1.0)});
  }
}

void Measurement::measureMemory() {
  std::vector<std::pair<double, double>> rates;
  double peak = 0;
  for (const Workload &call : copies(options.isQuick)) {
    Sample sample = sampleKernel(call, budget(0.05));
    addTo(result.device, sample);
    rates.push_back({call.bytes(), call.bytes() / sample.seconds});
    peak = std::max(peak, rates.back().second);
  }
  result.cluster.device.memoryBytesPerSecond = peak;
  result.cluster.device.memoryEfficiency = curveOf(rates, peak);
}

/// What has another dtype (the optimizer, in f32 beside bf16) is measured where that is the compute dtype.
void Measurement::listCalls() {
  for (auto [compute, share] : measuredDtypes)
    for (Workload &workload : stepCalls(compute, options.isQuick)) {
      CallViews views(workload);
      cost::Dtype dtype = rateDtype(views.call());
      if (static_cast<DType>(dtype) == compute || workload.kernel == "cast")
        calls.push_back({workload, compute, rateName(workload.kernel, views.call()), dtype,
                         callSize(workload.kernel, views.call())});
    }
}

void Measurement::measureCalls(DType compute, const SampleBudget &budget) {
  for (MeasuredCall &call : calls)
    if (call.compute == compute) {
      std::vector<double> seconds = kernelSeconds(call.workload, budget);
      call.seconds.insert(call.seconds.end(), seconds.begin(), seconds.end());
    }
}

/// In rounds: a shared machine may be slow for some seconds. Then that is a part of what each call has, and not all of
/// what some have.
void Measurement::measureKernels() {
  const int rounds = options.isQuick ? 1 : 3;
  SampleBudget ofRound = budget(0.02 / rounds);
  if (rounds > 1)
    ofRound.least = 2, ofRound.most = 5;
  listCalls();
  for (int round = 1; round <= rounds; ++round)
    for (auto [dtype, share] : measuredDtypes) {
      advance("kernels in " + std::string(name(dtype)) +
                  (rounds > 1 ? ", round " + std::to_string(round) + " of " + std::to_string(rounds) : ""),
              share / rounds);
      measureCalls(dtype, ofRound);
    }
  for (MeasuredCall &call : calls)
    call.sample = sampleOf(call.seconds);
}

void Measurement::fitKernels() {
  std::map<std::pair<std::string, cost::Dtype>, std::vector<const MeasuredCall *>> byKernel;
  for (const MeasuredCall &call : calls)
    byKernel[{call.kernel, call.dtype}].push_back(&call);
  for (const auto &[key, measured] : byKernel) {
    std::vector<Observation> observations;
    Quality quality;
    for (const MeasuredCall *call : measured) {
      observations.push_back(observe(call->size, call->sample.seconds));
      addTo(quality, call->sample);
    }
    std::array<double, 4> factors = fitFactors(observations);
    quality.fitError = meanError(factors, observations);
    result.cluster.measured->kernels[key.first][static_cast<size_t>(key.second)] = rateOf(factors);
    result.kernels[key.first + " " + nameOf(key.second)] = quality;
  }
}

/// What the kernels' own figures say of a device: attention, and what is bound by operations elsewhere.
void Measurement::setDeviceCurves() {
  constexpr double swigluOperations = 6; // of an element: negation, exponential, addition, division, two products
  cost::DeviceProfile &device = result.cluster.device;
  std::vector<std::pair<double, double>> attention;
  double attentionPeak = device.matrixFlopsPerSecond[cost::Dtype::F32];
  for (const MeasuredCall &call : calls) {
    auto dtype = static_cast<size_t>(call.dtype);
    if (call.kernel == "attention" && call.dtype == cost::Dtype::F32)
      attention.push_back({call.size.operations, call.size.operations / call.sample.seconds});
    if (call.kernel == "swiglu") {
      double elements = call.size.bytes / 3 / static_cast<double>(sizeInBytes(static_cast<DType>(dtype)));
      double &rate = device.vectorFlopsPerSecond.figures[dtype];
      rate = std::max(rate, swigluOperations * elements / call.sample.seconds);
    }
    if (call.kernel == "divide" && call.dtype == cost::Dtype::F32)
      device.kernelLaunchSeconds = std::max(call.sample.seconds, 1e-12);
  }
  device.attentionEfficiency = curveOf(std::move(attention), attentionPeak);
}

/// Numbers of ranks: powers of two, at least to 8 and to one rank a core.
static std::vector<int64_t> rankNumbers(int64_t cores) {
  std::vector<int64_t> numbers;
  for (int64_t ranks = 2; ranks <= std::max<int64_t>(8, cores) && ranks <= 64; ranks *= 2)
    numbers.push_back(ranks);
  return numbers;
}

static std::vector<int64_t> exchangedBytes(bool isQuick) {
  constexpr int64_t kibibyte = 1024;
  if (isQuick)
    return {4 * kibibyte, 256 * kibibyte};
  return {4 * kibibyte, 64 * kibibyte, 512 * kibibyte, 4096 * kibibyte};
}

void Measurement::measureExchanges() {
  for (const std::string &name : cost::exchangeNames())
    for (int64_t ranks : name == "send" ? std::vector<int64_t>{2} : rankNumbers(options.cores)) {
      std::vector<Observation> observations;
      Quality quality;
      for (int64_t bytes : exchangedBytes(options.isQuick)) {
        Sample sample = sampleExchange(name, ranks, bytes, budget(0.06));
        observations.push_back({{1, 0, static_cast<double>(bytes), 0}, sample.seconds});
        addTo(quality, sample);
      }
      std::array<double, 4> factors = fitFactors(observations);
      quality.fitError = meanError(factors, observations);
      result.cluster.measured->exchanges[name].push_back({static_cast<double>(ranks), factors[0], factors[2]});
      result.exchanges[name + " " + std::to_string(ranks)] = quality;
    }
}

void Measurement::measureStep() {
  constexpr int64_t several = 4;
  double one = sampleEmptyStep(1, budget(0)).seconds, more = sampleEmptyStep(several, budget(0)).seconds;
  cost::MeasuredRates &rates = *result.cluster.measured;
  rates.stepSeconds = one;
  rates.stepRankSeconds = std::max(0.0, (more - one) / (several - 1));
}

/// A step's kernels of the largest model probed, on one core and on all of them. Each call is measured twice in a row,
/// so that what else the machine does in between is the same for both.
void Measurement::measureBusyCores() {
  double alone = 0, beside = 0;
  for (DType dtype : {DType::F32, DType::BF16})
    for (const Workload &call : largestStepCalls(dtype, options.isQuick)) {
      auto count = static_cast<double>(call.countPerStep);
      alone += count * sampleKernel(call, budget(0.01)).seconds;
      beside += count * sampleKernelBeside(call, options.cores - 1, budget(0.01)).seconds;
    }
  result.cluster.measured->busyCoresShare = std::clamp(beside / alone - 1, 0.0, 1.0);
}

void Measurement::describeMachine() {
  cost::Cluster &cluster = result.cluster;
  result.processor = processorName();
  result.date = today();
  cluster.name = wordOf(result.processor) + "-" + std::to_string(options.cores) + "-cores";
  cluster.device.name = wordOf(result.processor);
  cluster.device.memoryBytes = std::floor(memoryBytes() / static_cast<double>(options.cores));
  cluster.device.reservedBytes = options.reservedBytes;
  cluster.coresPerNode = static_cast<double>(options.cores);
  cluster.levelNames = {"memory"};
  cluster.software = cost::tgptSoftware();
}

Calibration Measurement::run() {
  cost::Cluster &cluster = result.cluster;
  describeMachine();
  cluster.measured.emplace();
  advance("products", 0.1);
  measurePeaks();
  advance("memory", 0.02);
  measureMemory();
  measureKernels();
  fitKernels();
  setDeviceCurves();
  advance("collectives", 0.08);
  measureExchanges();
  measureStep();
  measureBusyCores();
  roundFigures(cluster);
  cluster.topology = cost::singleNode(cluster.device);
  options.onProgress("done", 1);
  return std::move(result);
}

double Calibration::meanSpread() const {
  double sum = 0, count = 0;
  for (const auto *qualities : {&kernels, &exchanges})
    for (const auto &[name, quality] : *qualities)
      sum += quality.spread, ++count;
  return count > 0 ? sum / count : 0;
}

double Calibration::worstSpread() const {
  double worst = 0;
  for (const auto *qualities : {&kernels, &exchanges})
    for (const auto &[name, quality] : *qualities)
      worst = std::max(worst, quality.spread);
  return worst;
}

Calibration tgpt::runtime::calibration::calibrate(const CalibrationOptions &options) {
  Calibration result;
  // OpenMP's thread count is a setting of the calling thread: a thread of our own leaves the caller's alone.
  std::exception_ptr failure;
  std::thread([&] {
    try {
      result = Measurement(options).run();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure)
    std::rethrow_exception(failure);
  return result;
}
