//===- ProcessTeamTest.cpp - gathers, shared memory, and news of the lost -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every process of a team is a thread here; those that are to be lost are forked.
//
//===----------------------------------------------------------------------===//
#include "runtime/launch/ProcessTeam.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tgpt::runtime;

namespace {

std::unique_ptr<ProcessTeam> join(int64_t rank, int64_t ranks, uint16_t port, int listener, double silence = 60,
                                  const std::string &machine = "") {
  RankIdentity identity{rank, ranks, rank, "127.0.0.1", port, false, listener, "WORLD_SIZE"};
  Member own;
  own.machine = machine;
  return std::make_unique<ProcessTeam>(identity, own, MeetingOptions{.seconds = 20}, silence);
}

/// Runs `body` with the team of every rank, on a thread each.
template <typename Body> void onTeams(int64_t ranks, const Body &body, int64_t ranksOfAMachine = 0) {
  Socket listener = listenOnPort(0);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      std::string machine = ranksOfAMachine ? "machine " + std::to_string(rank / ranksOfAMachine) : "";
      body(*join(rank, ranks, portOf(listener), rank == 0 ? ::dup(listener.get()) : -1, 60, machine));
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// A process that joins as `rank` and then does `body`; its id.
template <typename Body> pid_t fork(int64_t rank, int64_t ranks, const Socket &listener, const Body &body) {
  pid_t process = ::fork();
  if (process == 0) {
    try {
      std::unique_ptr<ProcessTeam> team = join(rank, ranks, portOf(listener), -1);
      body(*team);
    } catch (const std::exception &) {
    }
    ::_exit(0);
  }
  return process;
}

} // namespace

TEST(ProcessTeam, GathersInOrderManyTimes) {
  onTeams(5, [](ProcessTeam &team) {
    for (int64_t n = 0; n < 200; ++n) {
      std::vector<std::string> all = team.gather(std::to_string(team.rank() * n) + std::string(n * 7 % 50, 'x'));
      ASSERT_EQ(all.size(), 5u);
      for (int64_t rank = 0; rank < 5; ++rank)
        ASSERT_EQ(all[rank], std::to_string(rank * n) + std::string(n * 7 % 50, 'x'));
    }
  });
}

TEST(ProcessTeam, SharesMemoryWithinAMachine) {
  onTeams(
      6,
      [](ProcessTeam &team) {
        EXPECT_EQ(team.neighbours().size(), 3u);
        EXPECT_EQ(team.neighbours().front(), team.rank() / 3 * 3);
        for (size_t bytes : {size_t(4096), size_t(1) << 20}) {
          std::span<std::byte> memory = team.shareMemory(bytes);
          ASSERT_EQ(memory.size(), bytes);
          int64_t *numbers = reinterpret_cast<int64_t *>(memory.data());
          EXPECT_EQ(numbers[team.rank()], 0);
          team.gather("");
          numbers[team.rank()] = 10 + team.rank();
          team.gather("");
          for (int64_t rank = 0; rank < 6; ++rank)
            EXPECT_EQ(numbers[rank], rank / 3 == team.rank() / 3 ? 10 + rank : 0);
          team.gather("");
        }
      },
      3);
}

TEST(ProcessTeam, AProcessThatIsKilledIsNoticedByAll) {
  for (int64_t victim : {1, 2}) {
    Socket listener = listenOnPort(0);
    pid_t other = fork(victim == 1 ? 2 : 1, 3, listener, [&](ProcessTeam &team) {
      try {
        team.gather("");
        team.gather("never whole");
      } catch (const TeamEnded &ended) {
        ::_exit(ended.end.kind == TeamEnd::Kind::Lost && ended.end.rank == victim ? 7 : 8);
      }
    });
    pid_t killed = fork(victim, 3, listener, [](ProcessTeam &team) {
      team.gather("");
      ::kill(::getpid(), SIGKILL);
    });
    std::atomic<int64_t> told{-1};
    std::unique_ptr<ProcessTeam> first = join(0, 3, portOf(listener), ::dup(listener.get()));
    first->onEnd([&](const TeamEnd &end) { told = end.rank; });
    first->gather("");
    try {
      first->gather("");
      ADD_FAILURE() << "a rank is gone";
    } catch (const TeamEnded &ended) {
      EXPECT_EQ(ended.end.rank, victim);
      EXPECT_EQ(std::string(ended.what()),
                "rank " + std::to_string(victim) + ": its process has ended without a word (killed, or out of memory)");
    }
    int status = 0;
    ::waitpid(killed, &status, 0);
    ::waitpid(other, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 7);
    first.reset(); // its thread calls back after it has told the others
    EXPECT_EQ(told.load(), victim);
  }
}

TEST(ProcessTeam, TheFirstProcessMayBeLostAsWell) {
  Socket listener = listenOnPort(0);
  uint16_t port = portOf(listener);
  pid_t killed = ::fork();
  if (killed == 0) {
    std::unique_ptr<ProcessTeam> team = join(0, 2, port, ::dup(listener.get()));
    team->gather("");
    ::kill(::getpid(), SIGKILL);
  }
  std::unique_ptr<ProcessTeam> team = join(1, 2, port, -1);
  team->gather("");
  try {
    team->gather("");
    ADD_FAILURE() << "rank 0 is gone";
  } catch (const TeamEnded &ended) {
    EXPECT_EQ(ended.end.kind, TeamEnd::Kind::Lost);
    EXPECT_EQ(ended.end.rank, 0);
  }
  ::waitpid(killed, nullptr, 0);
}

TEST(ProcessTeam, OneThatStandsStillIsNoticed) {
  Socket listener = listenOnPort(0);
  pid_t stopped = fork(1, 2, listener, [](ProcessTeam &team) {
    team.gather("");
    ::kill(::getpid(), SIGSTOP);
  });
  std::unique_ptr<ProcessTeam> team = join(0, 2, portOf(listener), ::dup(listener.get()), 2.5);
  team->gather("");
  try {
    team->gather("");
    ADD_FAILURE() << "rank 1 stands still";
  } catch (const TeamEnded &ended) {
    EXPECT_EQ(ended.end.kind, TeamEnd::Kind::Silent);
  }
  ::kill(stopped, SIGKILL);
  ::waitpid(stopped, nullptr, 0);
}

TEST(ProcessTeam, AFailureIsToldToAllAndOneReports) {
  std::atomic<int> reports{0};
  onTeams(4, [&](ProcessTeam &team) {
    team.shareReports();
    try {
      if (team.rank() == 2)
        team.fail("the disk is full");
      else
        team.gather(""), ADD_FAILURE() << "rank 2 has failed";
    } catch (const TeamEnded &ended) {
      EXPECT_EQ(ended.end.rank, 2);
      EXPECT_EQ(ended.end.text, "the disk is full");
    }
    auto start = std::chrono::steady_clock::now();
    if (team.mayReport(team.rank() == 0)) {
      double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      EXPECT_TRUE(team.rank() == 0 || seconds > 1) << "without giving rank 0 a moment";
      ++reports;
      team.reported();
    }
    team.awaitReport();
  });
  EXPECT_EQ(reports.load(), 1);
}

TEST(ProcessTeam, AGatherMayBeGivenUp) {
  std::atomic<bool> isGivenUp{false};
  onTeams(2, [&](ProcessTeam &team) {
    if (team.rank() == 0) {
      EXPECT_TRUE(team.gather("", 0.01, [n = 0]() mutable { return ++n < 5; }).empty());
      isGivenUp = true;
    }
    while (!isGivenUp) // one that leaves ends the gather otherwise
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
}

TEST(ProcessTeam, KnowsWhoIsMissedByAGather) {
  std::atomic<bool> isMissed{false};
  onTeams(3, [&](ProcessTeam &team) {
    while (team.rank() == 2 && !isMissed)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto look = [&] {
      isMissed = isMissed || (team.rank() == 0 && team.missing() == std::vector<int64_t>{2});
      return team.rank() == 0 || team.missing() == std::vector<int64_t>{0};
    };
    EXPECT_EQ(team.gather("", 0.01, look).size(), 3u);
    if (team.rank() == 0) {
      EXPECT_EQ(team.missing(), std::vector<int64_t>());
    }
  });
}
