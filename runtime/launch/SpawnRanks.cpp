//===- SpawnRanks.cpp - starts a process for every rank ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One loop over a signalfd (children that end, signals to pass on) and the children's
// stderr. Children are a process group of their own, so that a Ctrl-C reaches them once.
//
//===----------------------------------------------------------------------===//
#include "runtime/launch/SpawnRanks.h"
#include "runtime/comm/Socket.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tgpt::runtime;

/// After a process has ended with an error: until the others are asked to end, and until they are killed.
static constexpr double askSeconds = 2, killSeconds = 3;
/// Before a line that is only printed where nobody says more: ASCII's unit separator.
static constexpr char unsaidMark = '\x1f';

namespace {
struct Child {
  pid_t process = -1; // -1: it has ended
  int errors = -1;    // its stderr; -1: closed
  std::string line;   // begun
  std::string unsaid; // what it left to others to say
};

class Ranks {
public:
  Ranks(int64_t count, const std::vector<std::string> &arguments, std::ostream &errors)
      : arguments(arguments), errors(errors), children(count) {}
  ~Ranks();
  int run();

private:
  void blockSignals();
  void start(int64_t rank, const Socket &listener);
  [[noreturn]] void becomeRank(int64_t rank, const Socket &listener, int errorsEnd, pid_t parent);
  void look();
  void takeSignal();
  void reap();
  void noteEnd(int64_t rank, int status);
  void forward(int64_t rank);
  void print(int64_t rank, bool all);
  void signalAll(int signal);
  void printLine(int64_t rank, const std::string &line);
  Error reason() const;
  bool anyRuns() const;
  bool anyOpen() const;

  const std::vector<std::string> &arguments;
  std::ostream &errors;
  std::vector<Child> children;
  sigset_t before{};
  Socket signals;
  int code = 0;
  std::string firstKill, firstFailure; // how the first one was killed, not by this process; how the first one ended
  std::string firstUnsaid;
  bool hasPrinted = false;
  std::optional<Deadline> askAt, killAt;
};
} // namespace

void Ranks::blockSignals() {
  sigset_t taken;
  sigemptyset(&taken);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
    sigaddset(&taken, signal);
  ::sigprocmask(SIG_BLOCK, &taken, &before);
  signals = Socket(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
}

void Ranks::becomeRank(int64_t rank, const Socket &listener, int errorsEnd, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL); // whatever happens to the parent
  if (::getppid() != parent)
    ::_exit(1);
  ::dup2(errorsEnd, STDERR_FILENO);
  int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  if (rank > 0)
    ::dup2(null, STDOUT_FILENO);
  if (rank == 0)
    ::fcntl(listener.get(), F_SETFD, 0); // it keeps the socket
  auto set = [](const char *name, const std::string &value) { ::setenv(name, value.c_str(), 1); };
  set("TGPT_SPAWNED", "1");
  set("TGPT_LISTENER", std::to_string(listener.get()));
  set("RANK", std::to_string(rank));
  set("LOCAL_RANK", std::to_string(rank));
  set("WORLD_SIZE", std::to_string(children.size()));
  set("MASTER_ADDR", "127.0.0.1");
  set("MASTER_PORT", std::to_string(portOf(listener)));
  ::unsetenv("TORCHELASTIC_USE_AGENT_STORE");
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  std::vector<char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv("/proc/self/exe", argv.data());
  ::dprintf(STDERR_FILENO, "cannot start: %s\n", std::strerror(errno));
  ::_exit(127);
}

void Ranks::start(int64_t rank, const Socket &listener) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error("cannot start rank " + std::to_string(rank) + ": " + std::strerror(errno));
  pid_t parent = ::getpid();
  pid_t process = ::fork();
  if (process == 0)
    becomeRank(rank, listener, ends[1], parent);
  ::close(ends[1]);
  children[rank].errors = ends[0];
  if (process < 0)
    throw Error("cannot start rank " + std::to_string(rank) + " of " + std::to_string(children.size()) + ": " +
                std::strerror(errno));
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  children[rank].process = process;
}

Ranks::~Ranks() {
  signalAll(SIGKILL);
  for (Child &child : children) {
    if (child.process > 0)
      ::waitpid(child.process, nullptr, 0);
    if (child.errors >= 0)
      ::close(child.errors);
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

bool Ranks::anyRuns() const {
  return std::any_of(children.begin(), children.end(), [](const Child &child) { return child.process > 0; });
}

bool Ranks::anyOpen() const {
  return std::any_of(children.begin(), children.end(), [](const Child &child) { return child.errors >= 0; });
}

void Ranks::signalAll(int signal) {
  for (const Child &child : children)
    if (child.process > 0)
      ::kill(child.process, signal);
}

void Ranks::takeSignal() {
  signalfd_siginfo info;
  while (::read(signals.get(), &info, sizeof(info)) == sizeof(info))
    if (info.ssi_signo != SIGCHLD)
      signalAll(static_cast<int>(info.ssi_signo));
}

void Ranks::noteEnd(int64_t rank, int status) {
  int ended = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  // One that is killed may be seen to end after those that miss it.
  bool isAsked = killAt && !askAt;
  if (WIFSIGNALED(status) && firstKill.empty() && !isAsked)
    firstKill = "rank " + std::to_string(rank) + " was killed by signal " + std::to_string(WTERMSIG(status)) + " (" +
                ::strsignal(WTERMSIG(status)) + ")";
  if (ended == 0)
    return;
  if (firstFailure.empty())
    firstFailure = "rank " + std::to_string(rank) + " ended with exit code " + std::to_string(ended);
  if (firstUnsaid.empty())
    firstUnsaid = children[rank].unsaid;
  if (code == 0) // a rank that is killed is an error of the run, but for the signals that end one
    code = WIFSIGNALED(status) && WTERMSIG(status) != SIGINT && WTERMSIG(status) != SIGTERM ? 1 : ended;
  if (!killAt) {
    askAt = inSeconds(askSeconds);
    killAt = inSeconds(killSeconds);
  }
}

/// Where no rank says why the run has ended.
Error Ranks::reason() const {
  if (!firstKill.empty() || firstUnsaid.empty())
    return Error(firstKill.empty() ? firstFailure : firstKill);
  size_t end = std::min(firstUnsaid.find('\n'), firstUnsaid.size());
  return Error(firstUnsaid.substr(0, end), firstUnsaid.substr(std::min(end + 1, firstUnsaid.size())));
}

void Ranks::reap() {
  for (size_t rank = 0; rank < children.size(); ++rank) {
    int status = 0;
    if (children[rank].process > 0 && ::waitpid(children[rank].process, &status, WNOHANG) > 0) {
      children[rank].process = -1;
      if (children[rank].errors >= 0)
        forward(static_cast<int64_t>(rank)); // its last words
      noteEnd(static_cast<int64_t>(rank), status);
    }
  }
}

void Ranks::print(int64_t rank, bool all) {
  std::string &line = children[rank].line;
  size_t end = 0;
  for (size_t next; (next = line.find('\n', end)) != std::string::npos || (all && end < line.size()); end = next + 1) {
    next = std::min(next, line.size());
    printLine(rank, line.substr(end, next - end));
  }
  line.erase(0, std::min(end, line.size()));
}

void Ranks::printLine(int64_t rank, const std::string &line) {
  if (line.starts_with(unsaidMark)) {
    std::string &unsaid = children[rank].unsaid;
    unsaid += (unsaid.empty() ? "" : "\n") + line.substr(1);
    return;
  }
  errors << (rank == 0 ? "" : "[rank " + std::to_string(rank) + "] ") << line << "\n" << std::flush;
  hasPrinted = true;
}

void Ranks::forward(int64_t rank) {
  Child &child = children[rank];
  char bytes[4096];
  while (true) {
    ssize_t got = ::read(child.errors, bytes, sizeof(bytes));
    if (got > 0) {
      child.line.append(bytes, static_cast<size_t>(got));
      continue;
    }
    bool isOver = got == 0 || (errno != EAGAIN && errno != EINTR);
    print(rank, isOver);
    if (isOver) {
      ::close(child.errors);
      child.errors = -1;
    }
    return;
  }
}

void Ranks::look() {
  std::vector<pollfd> entries = {{signals.get(), POLLIN, 0}};
  for (const Child &child : children)
    entries.push_back({child.errors, POLLIN, 0});
  ::poll(entries.data(), entries.size(), 200);
  takeSignal();
  for (size_t rank = 0; rank < children.size(); ++rank)
    if (entries[rank + 1].revents)
      forward(static_cast<int64_t>(rank));
  reap();
  auto now = std::chrono::steady_clock::now();
  if (askAt && now >= *askAt) {
    askAt.reset();
    signalAll(SIGTERM);
  }
  if (killAt && now >= *killAt)
    signalAll(SIGKILL);
}

int Ranks::run() {
  Socket listener = listenOnPort(0);
  blockSignals();
  for (size_t rank = 0; rank < children.size(); ++rank)
    start(static_cast<int64_t>(rank), listener);
  listener.close();
  while (anyRuns() || anyOpen())
    look();
  if (code != 0 && !hasPrinted && code != 128 + SIGINT && code != 128 + SIGTERM)
    throw reason();
  return code;
}

void tgpt::runtime::leaveUnsaid(const Error &error, std::ostream &errors) {
  std::istringstream lines(error.what() + ("\n" + error.details()));
  for (std::string line; std::getline(lines, line);)
    errors << unsaidMark << line << "\n";
  errors << std::flush;
}

int tgpt::runtime::spawnRanks(int64_t ranks, const std::vector<std::string> &arguments, std::ostream &errors) {
  return Ranks(ranks, arguments, errors).run();
}
