//===- CalibrationFile.cpp - a calibration as a cluster file --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/calibration/CalibrationFile.h"

#include "cost/cluster/WriteCluster.h"
#include "runtime/files/AtomicFile.h"
#include "runtime/plan/Error.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::calibration;

static std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", 100 * share);
  return text;
}

namespace {
/// Where each figure of a calibration is from.
class Sources {
public:
  explicit Sources(const Calibration &calibration)
      : calibration(calibration),
        by("measured by tgpt-run --calibrate on " + calibration.processor + ", " + calibration.date) {}

  std::string of(const std::string &path) const {
    for (const auto &[place, source] : fixed)
      if (path == place)
        return source == std::string("measured") ? by + ", medians of " + repetitions(calibration.device) : source;
    if (path.rfind("software.", 0) == 0 || path.rfind("communicator.", 0) == 0)
      return "";
    if (const Quality *quality = find(calibration.kernels, path, "measured.kernels."))
      return about(*quality);
    if (const Quality *quality = find(calibration.exchanges, path, "measured.exchanges."))
      return about(*quality);
    return "";
  }

private:
  static constexpr std::pair<const char *, const char *> fixed[] = {
      {"cores_per_node", "Cores that this process may run on; ranks are threads and share them."},
      {"device.memory_bytes", "This machine's memory over its cores (sysconf)."},
      {"device.reserved_bytes", "Of a rank outside of its arena (docs/memory.md)."},
      {"device.memory_bytes_per_second", "measured"},
      {"device.kernel_launch_seconds", "measured"},
      {"device.matrix_flops_per_second", "measured"},
      {"device.vector_flops_per_second", "measured"},
      {"device.matrix_efficiency", "measured"},
      {"device.attention_efficiency", "measured"},
      {"device.memory_efficiency", "measured"},
      {"communicator", "Threads of one process: a communicator is a few hundred bytes."},
      {"software", "As of any cluster that tgpt runs on, each with its reason in cost/cluster/Cluster.cpp."},
      {"measured.step_seconds", "measured"},
      {"measured.step_rank_seconds", "measured"},
      {"measured.busy_cores_share", "measured"},
  };

  static std::string repetitions(const Quality &quality) {
    return "at least " + std::to_string(quality.repetitions) + ", spread " + percent(quality.spread);
  }
  std::string about(const Quality &quality) const {
    return by + ", medians of " + repetitions(quality) + "; " + std::to_string(quality.calls) +
           " sizes, the formula is " + percent(quality.fitError) + " off in the mean";
  }
  /// "measured.kernels.linear.f32" is "linear f32" in the table.
  static const Quality *find(const std::map<std::string, Quality, std::less<>> &table, const std::string &path,
                             const std::string &prefix) {
    if (path.rfind(prefix, 0) != 0)
      return nullptr;
    std::string name = path.substr(prefix.size());
    if (size_t dot = name.find('.'); dot != std::string::npos)
      name[dot] = ' ';
    auto found = table.find(name);
    return found == table.end() ? nullptr : &found->second;
  }

  const Calibration &calibration;
  std::string by;
};
} // namespace

std::string tgpt::runtime::calibration::calibrationText(const Calibration &calibration) {
  Sources sources(calibration);
  std::vector<std::string> head = {
      "This machine, " + calibration.processor + ", as tgpt-run --calibrate measured it on " + calibration.date + ".",
      "One thread a rank. A device is one core and its share of the memory (docs/calibration.md)."};
  return cost::clusterText(calibration.cluster, head, [&](const std::string &path) { return sources.of(path); });
}

/// Nobody waits half a minute to learn that the file can't be written.
static void requireWritable(const std::filesystem::path &file) {
  std::error_code ignored;
  std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(folder, ignored))
    throw Error("-o '" + file.string() + "': there is no folder '" + folder.string() + "'");
  if (std::filesystem::is_directory(file, ignored))
    throw Error("-o '" + file.string() + "' is a directory, expected a file name");
  if (std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored))
    throw Error("-o '" + file.string() + "' is not a regular file");
  if (::access(folder.c_str(), W_OK) != 0)
    throw Error("-o '" + file.string() + "': cannot write to folder '" + folder.string() +
                "': " + std::strerror(errno));
}

static void printSummary(const Calibration &calibration, double seconds, std::ostream &out) {
  const cost::DeviceProfile &device = calibration.cluster.device;
  char line[240];
  out << calibration.processor << ", " << calibration.cluster.coresPerNode << " cores\n";
  std::snprintf(
      line, sizeof line, "products %.0f f64, %.0f f32, %.0f bf16, %.0f f16 Gflop/s a core; copies %.1f GB/s\n",
      device.matrixFlopsPerSecond[cost::Dtype::F64] / 1e9, device.matrixFlopsPerSecond[cost::Dtype::F32] / 1e9,
      device.matrixFlopsPerSecond[cost::Dtype::BF16] / 1e9, device.matrixFlopsPerSecond[cost::Dtype::F16] / 1e9,
      device.memoryBytesPerSecond / 1e9);
  out << line;
  const cost::ExchangeRate &two = calibration.cluster.measured->exchanges.at("all_reduce").front();
  if (two.secondsPerByte > 0)
    std::snprintf(line, sizeof line, "all_reduce of two ranks: %.1f us and %.2f GB/s\n", two.latencySeconds * 1e6,
                  1e-9 / two.secondsPerByte);
  else // the fit found nothing above the noise
    std::snprintf(line, sizeof line, "all_reduce of two ranks: %.1f us, however large\n", two.latencySeconds * 1e6);
  out << line;
  out << calibration.kernels.size() << " kernels and " << calibration.exchanges.size()
      << " exchanges; spread of the measurements " << percent(calibration.meanSpread()) << " in the mean, "
      << percent(calibration.worstSpread()) << " at worst; " << static_cast<int>(seconds + 0.5) << " seconds\n";
}

void tgpt::runtime::calibration::runCalibration(const CalibrationRequest &request, const CalibrationOptions &options,
                                                std::ostream &out, std::ostream &progress) {
  if (!request.output.empty())
    requireWritable(request.output);
  auto start = std::chrono::steady_clock::now();
  CalibrationOptions reporting = options;
  reporting.onProgress = [&](const std::string &what, double share) {
    progress << "calibrating: " << static_cast<int>(100 * share + 0.5) << "%  " << what << "\n" << std::flush;
  };
  Calibration calibration = calibrate(reporting);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::string text = calibrationText(calibration);
  if (request.output.empty()) {
    out << text;
    return printSummary(calibration, seconds, progress);
  }
  writeTextAtomically(request.output, text);
  printSummary(calibration, seconds, out);
  out << "wrote " << request.output.string() << "\n";
}
