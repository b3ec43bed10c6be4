//===- runtime/checkpoint/Checkpoint.cpp - saving a run and taking it up again --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/checkpoint/WriteVariables.h"
#include "runtime/files/AtomicFile.h"
#include "runtime/files/MappedFile.h"
#include "runtime/plan/Error.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <unistd.h>

using namespace tgpt::runtime;
namespace fs = std::filesystem;

static constexpr const char *stateFile = "checkpoint.json";
static constexpr const char *weightsFile = "weights.safetensors";
static constexpr const char *optimizerFile = "optimizer.safetensors";
static constexpr const char *latestFile = "latest";

static std::string directoryName(int64_t step) {
  char name[32];
  std::snprintf(name, sizeof(name), "step-%06lld", static_cast<long long>(step));
  return name;
}

namespace {
/// A directory that is filled under a hidden name and takes its real one at the end.
class HiddenDirectory {
public:
  HiddenDirectory(const fs::path &parent, const std::string &name) : final(parent / name) {
    std::string suffix = "-" + std::to_string(::getpid());
    hidden = parent / ("." + name + ".tmp" + suffix);
    replaced = parent / ("." + name + ".old" + suffix);
    fs::remove_all(hidden);
    fs::create_directories(hidden);
  }
  ~HiddenDirectory() {
    std::error_code ignored;
    fs::remove_all(hidden, ignored);
  }
  const fs::path &getPath() const { return hidden; }

  void reveal() {
    if (!fs::exists(final)) {
      fs::rename(hidden, final);
      return syncDirectory(final.parent_path());
    }
    // In one step, so that a run that is killed leaves one of the two.
    if (::renameat2(AT_FDCWD, hidden.c_str(), AT_FDCWD, final.c_str(), RENAME_EXCHANGE) != 0) {
      fs::rename(final, replaced); // not every file system can; removeLeftovers() knows this name
      fs::rename(hidden, final);
    }
    syncDirectory(final.parent_path());
    fs::remove_all(replaced);
  }

private:
  fs::path final, hidden, replaced;
};
} // namespace

static void writeFiles(const Job &job, const TrainingState &state, const fs::path &directory) {
  // Libraries that read weights ask for "format"; the layout is the one they call "pt".
  std::map<std::string, std::string> metadata = {
      {"format", "pt"}, {"model", state.model}, {"step", std::to_string(state.step)}};
  writeVariables(job, weightsOf(job), directory / weightsFile, metadata);
  writeVariables(job, optimizerStateOf(job), directory / optimizerFile, metadata);
  writeTextAtomically(directory / stateFile, encodeState(state));
}

fs::path tgpt::runtime::saveCheckpoint(const Job &job, const TrainingState &state, const fs::path &directory) try {
  std::string name = directoryName(state.step);
  HiddenDirectory files(directory, name);
  writeFiles(job, state, files.getPath());
  files.reveal();
  writeTextAtomically(directory / latestFile, name + "\n");
  return directory / name;
} catch (const fs::filesystem_error &error) {
  throw Error("cannot save to '" + directory.string() + "': " + error.code().message());
}

/// The process whose number ends a temporary name ("....tmp-123", "....old-123"); 0 for another name.
static pid_t ownerOf(const std::string &name, const char *kind) {
  size_t at = name.rfind(kind);
  pid_t owner = 0;
  if (at != std::string::npos)
    std::from_chars(name.data() + at + std::char_traits<char>::length(kind), name.data() + name.size(), owner);
  return owner;
}

/// Seconds since the machine started, when a process was made; nothing where it has ended, be it that nobody has waited
/// for it yet (proc(5), /proc/[pid]/stat).
static std::optional<double> startOf(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::istringstream fields(text.substr(std::min(text.rfind(')'), text.size() - 1) + 1));
  std::string state, skipped;
  fields >> state;
  if (state.empty() || state == "Z" || state == "X")
    return std::nullopt;
  for (int field = 4; field < 22; ++field)
    fields >> skipped;
  double ticks = 0;
  fields >> ticks;
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// Whether the process that made `path` has ended; another one may have its number by now.
static bool isGone(pid_t process, const fs::path &path) {
  if (process <= 0)
    return false;
  if (::kill(process, 0) != 0)
    return errno == ESRCH;
  std::optional<double> start = startOf(process);
  timespec now{}; // not /proc/uptime: some containers have one of their own, beside the machine's times of processes
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  double uptime = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  std::error_code ignored;
  double age =
      std::chrono::duration<double>(fs::file_time_type::clock::now() - fs::last_write_time(path, ignored)).count();
  constexpr double clockSeconds = 1; // what clocks may differ by
  return !start || *start > uptime - age + clockSeconds;
}

void tgpt::runtime::removeLeftovers(const fs::path &directory) {
  std::error_code ignored;
  std::vector<fs::path> temporary, replaced;
  for (const fs::directory_entry &entry : fs::directory_iterator(directory, ignored)) {
    std::string name = entry.path().filename();
    bool isOurs = name.rfind(".step-", 0) == 0 || name.rfind(latestFile, 0) == 0;
    if (isOurs && isGone(ownerOf(name, ".tmp-"), entry.path()))
      temporary.push_back(entry.path());
    if (isOurs && isGone(ownerOf(name, ".old-"), entry.path()))
      replaced.push_back(entry.path());
  }
  for (const fs::path &path : temporary)
    fs::remove_all(path, ignored);
  for (const fs::path &path : replaced) {
    std::string name = path.filename();
    fs::path final = directory / name.substr(1, name.rfind(".old-") - 1);
    if (!fs::exists(final, ignored)) // killed before the new one took its place
      fs::rename(path, final, ignored);
    else
      fs::remove_all(path, ignored);
  }
}

bool tgpt::runtime::holdsCheckpoints(const fs::path &directory) {
  std::error_code ignored;
  return fs::exists(directory / latestFile, ignored);
}

static std::string readLatest(const fs::path &directory) {
  MappedFile file(directory / latestFile);
  std::string name(reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size());
  while (!name.empty() && std::isspace(static_cast<unsigned char>(name.back())))
    name.pop_back();
  if (name.compare(0, 5, "step-") != 0 || name.find('/') != std::string::npos)
    throw Error("'" + (directory / latestFile).string() + "' does not name a checkpoint (step-...)");
  return name;
}

fs::path tgpt::runtime::findCheckpoint(const fs::path &path) {
  std::error_code ignored;
  if (fs::exists(path / stateFile, ignored))
    return path;
  if (!fs::is_directory(path, ignored))
    throw Error("cannot resume from '" + path.string() + "': no such directory");
  if (!holdsCheckpoints(path))
    throw Error("cannot resume from '" + path.string() + "': it holds neither " + stateFile + " nor " + latestFile);
  fs::path checkpoint = path / readLatest(path);
  if (!fs::exists(checkpoint / stateFile, ignored))
    throw Error("cannot resume from '" + path.string() + "': its latest checkpoint '" + checkpoint.string() +
                "' is missing or has no " + stateFile);
  return checkpoint;
}

TrainingState tgpt::runtime::readCheckpointState(const fs::path &checkpoint) {
  return readState(checkpoint / stateFile);
}

ReadCounts tgpt::runtime::loadCheckpoint(Job &job, const fs::path &checkpoint) {
  SafetensorsReader weights(checkpoint / weightsFile), optimizer(checkpoint / optimizerFile);
  return readCheckpointVariables(job, weights, optimizer);
}
