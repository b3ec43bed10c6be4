//===- RendezvousTest.cpp - ranks that come, come late, twice, or are strangers -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/launch/Rendezvous.h"
#include "runtime/plan/Error.h"

#include <gtest/gtest.h>

#include <atomic>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace tgpt::runtime;

namespace {

struct Guest {
  int64_t rank = 0;
  int64_t ranks = 3;
  std::string plan = "plan A", options = "--steps=5\n--lr=1\n";
  double delaySeconds = 0, seconds = 20;
  int64_t after = -1;       // comes when that guest has said who it is
  std::string outcome = {}; // "came", or the error
  bool isToBlame = false;
  std::vector<Member> members = {};
};

/// Lets them come, each on a thread of its own. Rank 0 listens on the first one's port.
void letMeet(std::vector<Guest> &guests, const std::function<void(uint16_t)> &meanwhile = {}) {
  Socket listener = listenOnPort(0);
  uint16_t port = portOf(listener);
  std::vector<std::thread> threads;
  std::vector<Meeting> meetings(guests.size()); // nobody leaves before all have come
  std::vector<std::atomic<bool>> saidHello(guests.size());
  for (size_t i = 0; i < guests.size(); ++i)
    threads.emplace_back([&, i] {
      Guest &guest = guests[i];
      std::this_thread::sleep_for(std::chrono::duration<double>(guest.delaySeconds));
      while (guest.after >= 0 && !saidHello[guest.after])
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      RankIdentity identity{
          guest.rank,  guest.ranks, guest.rank, "127.0.0.1", port, false, guest.rank == 0 ? ::dup(listener.get()) : -1,
          "WORLD_SIZE"};
      Member own;
      own.plan = guest.plan, own.options = guest.options, own.host = "host" + std::to_string(i);
      try {
        // Those that come to rank 0 ask this once they have said who they are.
        auto stopRequested = [&] { return saidHello[i] = true, false; };
        meetings[i] = meet(identity, own, {.seconds = guest.seconds, .stopRequested = stopRequested});
        guest.members = meetings[i].members;
        guest.outcome = "came";
      } catch (const Refused &refused) {
        guest.outcome = refused.what();
        guest.isToBlame = refused.isToBlame;
      } catch (const Error &error) {
        guest.outcome = error.what();
      }
    });
  if (meanwhile)
    meanwhile(port);
  for (std::thread &thread : threads)
    thread.join();
}

std::vector<Guest> three() {
  return {{.rank = 0}, {.rank = 1}, {.rank = 2}};
}

} // namespace

TEST(Rendezvous, EveryRankIsToldOfAll) {
  std::vector<Guest> guests = three();
  guests[0].delaySeconds = 0.2; // the first is the last
  letMeet(guests);
  for (const Guest &guest : guests) {
    EXPECT_EQ(guest.outcome, "came");
    ASSERT_EQ(guest.members.size(), 3u);
    for (int64_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(guest.members[rank].rank, rank);
      EXPECT_EQ(guest.members[rank].host, "host" + std::to_string(rank));
      EXPECT_EQ(guest.members[rank].address, "127.0.0.1");
    }
  }
}

TEST(Rendezvous, ALateRankIsWaitedFor) {
  std::vector<Guest> guests = three();
  guests[2].delaySeconds = 0.5;
  letMeet(guests);
  for (const Guest &guest : guests)
    EXPECT_EQ(guest.outcome, "came");
}

TEST(Rendezvous, MissingRanksAreNamed) {
  std::vector<Guest> guests = {{.rank = 0, .ranks = 6, .seconds = 0.5, .after = 1}, {.rank = 2, .ranks = 6}};
  letMeet(guests);
  for (const Guest &guest : guests) {
    EXPECT_EQ(guest.outcome.find("ranks 1, 3-5 of 6 did not come to rank 0 (host0, port "), 0u) << guest.outcome;
    EXPECT_NE(guest.outcome.find(") within 0.5 s"), std::string::npos) << guest.outcome;
    EXPECT_FALSE(guest.isToBlame);
  }
}

TEST(Rendezvous, TwoProcessesOfOneRank) {
  std::vector<Guest> guests = {{.rank = 0}, {.rank = 1}, {.rank = 1, .after = 1}};
  letMeet(guests);
  for (const Guest &guest : guests)
    EXPECT_EQ(guest.outcome, "there are two processes of rank 1: on host1 and on host2");
  EXPECT_FALSE(guests[1].isToBlame);
  EXPECT_TRUE(guests[2].isToBlame) << "it says so as well";
}

TEST(Rendezvous, AnotherWorldSize) {
  std::vector<Guest> guests = {{.rank = 0}, {.rank = 1, .ranks = 4}};
  letMeet(guests);
  EXPECT_EQ(guests[0].outcome, "rank 1 (host1) was started as one of 4 ranks, rank 0 as one of 3");
  EXPECT_EQ(guests[1].outcome, guests[0].outcome);
  EXPECT_TRUE(guests[1].isToBlame);
}

TEST(Rendezvous, AnotherPlan) {
  std::vector<Guest> guests = three();
  guests[2].plan = "plan B", guests[2].after = 1;
  letMeet(guests);
  for (const Guest &guest : guests)
    EXPECT_EQ(guest.outcome, "rank 2 (host2) runs another plan than rank 0 (checksum plan B, not plan A)");
}

TEST(Rendezvous, OtherOptions) {
  std::vector<Guest> guests = three();
  guests[2].options = "--steps=5\n--lr=2\n", guests[2].after = 1;
  letMeet(guests);
  for (const Guest &guest : guests)
    EXPECT_EQ(guest.outcome, "rank 2 (host2) was started with --lr=2, rank 0 with --lr=1");
}

TEST(Rendezvous, StrangersOnThePortAreShownOut) {
  std::vector<Guest> guests = three();
  guests[1].delaySeconds = 0.4;
  letMeet(guests, [](uint16_t port) {
    std::vector<Socket> strangers;
    for (const std::string &what :
         {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(), std::string("TGPJ") + std::string(12, '\xff'),
          std::string("TGP"), std::string(4000, '\0'), std::string("TGPJ\1\0\0\0\4\0\0\0\0\0\0\0abcd", 20)}) {
      strangers.push_back(connectTo("127.0.0.1", port, inSeconds(5)));
      sendAll(strangers.back(), what.data(), what.size(), inSeconds(1));
    }
    strangers.erase(strangers.begin() + 1); // one hangs up without a word
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
  });
  for (const Guest &guest : guests)
    EXPECT_EQ(guest.outcome, "came");
}

TEST(Rendezvous, ATakenPortIsAnError) {
  Socket taken = listenOnPort(0);
  RankIdentity identity{0, 2, 0, "127.0.0.1", portOf(taken)};
  try {
    meet(identity, {}, {.seconds = 1});
    FAIL() << "the port is taken";
  } catch (const Error &error) {
    EXPECT_EQ(std::string(error.what()), "cannot listen on port " + std::to_string(portOf(taken)) +
                                             ": Address already in use; set "
                                             "MASTER_PORT to a free port");
  }
}

TEST(Rendezvous, NobodyListens) {
  // A port that is taken, so that nobody else listens there, and on which nobody does.
  Socket taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ASSERT_EQ(::bind(taken.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
  uint16_t port = portOf(taken);
  RankIdentity identity{1, 2, 1, "127.0.0.1", port};
  auto start = std::chrono::steady_clock::now();
  try {
    meet(identity, {}, {.seconds = 0.3});
    FAIL() << "nobody is there";
  } catch (const Error &error) {
    EXPECT_EQ(std::string(error.what()), "rank 1 did not reach rank 0 within 0.3 s: cannot connect to 127.0.0.1:" +
                                             std::to_string(port) + ": Connection refused");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Rendezvous, ARankThatGoesAgainIsNoticed) {
  Socket listener = listenOnPort(0);
  uint16_t port = portOf(listener);
  std::vector<Guest> guests = {{.rank = 0, .seconds = 20}};
  std::thread goes([&] {
    RankIdentity identity{1, 3, 1, "127.0.0.1", port};
    Member own;
    own.plan = "plan A", own.options = guests[0].options, own.host = "elsewhere";
    EXPECT_THROW(meet(identity, own, {.seconds = 5, .stopRequested = [n = 0]() mutable { return ++n > 2; }}),
                 Interrupted);
  });
  RankIdentity identity{0, 3, 0, "127.0.0.1", port, false, ::dup(listener.get()), "WORLD_SIZE"};
  Member own;
  own.plan = "plan A", own.options = guests[0].options;
  try {
    meet(identity, own, {.seconds = 20});
    FAIL() << "rank 1 is gone";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "rank 1 (elsewhere) has ended before all ranks had come");
  }
  goes.join();
}
