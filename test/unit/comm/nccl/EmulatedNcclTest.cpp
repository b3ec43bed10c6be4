//===- EmulatedNcclTest.cpp - what the emulated NCCL refuses ----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each wrong use as the smallest program that makes it, and that a stuck one ends when it
// is aborted. Host memory and the calling thread stand for device and stream.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/nccl/emulation/EmulatedNccl.h"
#include "runtime/comm/Communicator.h"
#include "runtime/comm/nccl/NcclHandle.h"
#include "runtime/plan/Error.h"
#include "test/unit/comm/RankThreads.h"

#include <chrono>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tgpt::runtime;
using namespace std::chrono_literals;

namespace {
struct Group {
  explicit Group(int64_t ranks) {
    EXPECT_EQ(nccl.uniqueId(&id), NcclResult::Success);
    handles.resize(ranks);
    tgpt::test::onRanks(ranks, [&](int64_t rank) {
      handles[rank] = std::make_unique<NcclHandle>(NcclCaller{nccl}, "group 1 (tp)", id, ranks, rank);
    });
  }

  NcclResult allReduce(NcclComm comm, size_t count, NcclType type = NcclType::Float32,
                       NcclOperation operation = NcclOperation::Sum, void *stream = nullptr) {
    return nccl.allReduce(words, words, count, type, operation, comm, stream);
  }
  /// What somebody's communicator says within a while; then all are aborted.
  std::string awaitErrorAndAbort() {
    for (auto end = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < end;
         std::this_thread::sleep_for(1ms))
      for (auto &handle : handles)
        if (std::optional<std::string> error = handle->asyncError()) {
          abortAll();
          return *error;
        }
    abortAll();
    return "no error";
  }
  void abortAll() {
    for (auto &handle : handles)
      handle->abort();
  }

  EmulatedNccl nccl;
  NcclUniqueId id;
  std::vector<std::unique_ptr<NcclHandle>> handles;
  float words[16384] = {}; // of whoever calls: nothing here looks at values
};

using Call = std::function<NcclResult(NcclApi &, NcclComm)>;

/// Rank r issues calls[r]; what is said of them.
std::string sayOf(Group &group, const std::vector<Call> &calls) {
  std::string said;
  std::thread watch([&] { said = group.awaitErrorAndAbort(); });
  tgpt::test::onRanks(static_cast<int64_t>(calls.size()), [&](int64_t rank) {
    try {
      group.handles[rank]->issue("the call", calls[rank]);
    } catch (const JobAborted &) {
    }
  });
  watch.join();
  return said;
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}
} // namespace

TEST(EmulatedNccl, DifferentCountsAreAnErrorOfBoth) {
  Group group(2);
  std::string said = sayOf(group, {[&](NcclApi &, NcclComm comm) { return group.allReduce(comm, 4); },
                                   [&](NcclApi &, NcclComm comm) { return group.allReduce(comm, 5); }});
  EXPECT_TRUE(has(said, "group 1 (tp): NCCL says ncclInvalidUsage")) << said;
  EXPECT_TRUE(has(said, "does all_reduce sum of 4 f32") && has(said, "does all_reduce sum of 5 f32")) << said;
}

TEST(EmulatedNccl, DifferentTypesOrOperationsAreAnError) {
  Group types(2), operations(2), kinds(2);
  std::string said =
      sayOf(types, {[&](NcclApi &, NcclComm comm) { return types.allReduce(comm, 4, NcclType::BFloat16); },
                    [&](NcclApi &, NcclComm comm) { return types.allReduce(comm, 4, NcclType::Float16); }});
  EXPECT_TRUE(has(said, "4 bf16") && has(said, "4 f16")) << said;
  said = sayOf(operations, {[&](NcclApi &, NcclComm comm) {
                              return operations.allReduce(comm, 4, NcclType::Float32, NcclOperation::Max);
                            },
                            [&](NcclApi &, NcclComm comm) { return operations.allReduce(comm, 4); }});
  EXPECT_TRUE(has(said, "all_reduce max") && has(said, "all_reduce sum")) << said;
  said = sayOf(kinds, {[&](NcclApi &api, NcclComm comm) {
                         return api.allGather(kinds.words, kinds.words, 4, NcclType::Float32, comm, nullptr);
                       },
                       [&](NcclApi &, NcclComm comm) { return kinds.allReduce(comm, 4); }});
  EXPECT_TRUE(has(said, "all_gather") && has(said, "all_reduce")) << said;
}

TEST(EmulatedNccl, AMessageOfAnotherSizeThanItsReceiveIsAnError) {
  Group group(2);
  std::string said = sayOf(
      group,
      {[&](NcclApi &api, NcclComm comm) { return api.send(group.words, 7, NcclType::Float32, 1, comm, nullptr); },
       [&](NcclApi &api, NcclComm comm) { return api.receive(group.words, 8, NcclType::Float32, 0, comm, nullptr); }});
  EXPECT_TRUE(has(said, "does send of 7 f32") && has(said, "does receive of 8 f32")) << said;
}

TEST(EmulatedNccl, ASendWithoutAReceiveWaitsUntilItIsAborted) {
  Group group(2);
  std::atomic<bool> isBack{false};
  std::atomic<bool> isCalling{false};
  std::thread sender([&] {
    group.handles[0]->issue("ncclSend", [&](NcclApi &api, NcclComm comm) {
      isCalling.store(true);
      return api.send(group.words, 1, NcclType::Float32, 1, comm, nullptr);
    });
    isBack.store(true);
  });
  while (!isCalling.load())
    std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(isBack.load());
  EXPECT_EQ(group.handles[0]->asyncError(), std::nullopt); // it is no error, for all that NCCL knows
  group.abortAll();
  sender.join();
  EXPECT_THROW(group.handles[0]->issue("ncclSend",
                                       [&](NcclApi &api, NcclComm comm) {
                                         return api.send(group.words, 1, NcclType::Float32, 1, comm, nullptr);
                                       }),
               JobAborted);
  EXPECT_EQ(group.nccl.misuses(), std::vector<std::string>());
}

/// The library fills in a part's handle from a thread of its own: whoever reads it when ncclCommSplit returns has none.
TEST(EmulatedNccl, APartIsThereWhenTheDividedCommunicatorIsNoLongerInProgress) {
  EmulatedNccl nccl;
  NcclUniqueId id;
  ASSERT_EQ(nccl.uniqueId(&id), NcclResult::Success);
  tgpt::test::onRanks(2, [&](int64_t rank) {
    auto await = [&](NcclComm comm) {
      NcclResult state = NcclResult::InProgress;
      while (state == NcclResult::InProgress)
        ASSERT_EQ(nccl.asyncError(comm, &state), NcclResult::Success);
      EXPECT_EQ(state, NcclResult::Success);
    };
    NcclComm whole = nullptr, part = nullptr, none = nullptr;
    EXPECT_EQ(nccl.initRank(&whole, 2, id, static_cast<int>(rank), {}), NcclResult::InProgress);
    await(whole);
    EXPECT_EQ(nccl.split(whole, 0, static_cast<int>(rank), &part, {}), NcclResult::InProgress);
    EXPECT_EQ(part, nullptr);
    await(whole);
    ASSERT_NE(part, nullptr);
    await(part);
    EXPECT_EQ(nccl.split(whole, ncclNoColor, 0, &none, {}), NcclResult::InProgress);
    await(whole);
    EXPECT_EQ(none, nullptr);
    nccl.abort(part);
    nccl.abort(whole);
  });
  EXPECT_EQ(nccl.misuses(), std::vector<std::string>());
}

/// A rank that gives up while its peer has not come leaves nothing behind that the library would still write to.
TEST(EmulatedNccl, ASplitThatIsGivenUpLeavesNoCommunicator) {
  EmulatedNccl nccl;
  NcclUniqueId id;
  ASSERT_EQ(nccl.uniqueId(&id), NcclResult::Success);
  std::atomic<bool> isStopped{false};
  tgpt::test::onRanks(2, [&](int64_t rank) {
    NcclHandle whole(NcclCaller{nccl, [&] { return isStopped.load(); }}, "all ranks", id, 2, rank);
    if (rank == 1) {
      std::this_thread::sleep_for(50ms);
      isStopped.store(true);
      return;
    }
    EXPECT_THROW(whole.split("group 1 (tp)", 0, 0), JobAborted);
  });
  EXPECT_EQ(nccl.openCommunicators(), 0);
  EXPECT_EQ(nccl.misuses(), std::vector<std::string>());
}

/// Two ranks that both send first wait for each other: NCCL promises no room for a message on its way.
TEST(EmulatedNccl, TwoSendsThatMeetAreStuckUnlessTheyAreAGroup) {
  Group group(2);
  std::atomic<int> calling{0}, back{0};
  auto exchange = [&](int64_t rank, bool asGroup) {
    float mine = static_cast<float>(rank) + 1, theirs = 0;
    auto both = [&](NcclApi &api, NcclComm comm) {
      NcclResult sent = api.send(&mine, 1, NcclType::Float32, static_cast<int>(1 - rank), comm, nullptr);
      return sent == NcclResult::Success
                 ? api.receive(&theirs, 1, NcclType::Float32, static_cast<int>(1 - rank), comm, nullptr)
                 : sent;
    };
    if (asGroup)
      group.handles[rank]->issueGroup("both", both);
    else
      group.handles[rank]->issue("ncclSend", [&](NcclApi &api, NcclComm comm) {
        ++calling;
        return api.send(&mine, 1, NcclType::Float32, static_cast<int>(1 - rank), comm, nullptr);
      });
    return theirs;
  };
  tgpt::test::onRanks(2, [&](int64_t rank) { EXPECT_EQ(exchange(rank, true), static_cast<float>(2 - rank)); });
  std::thread watch([&] {
    while (calling.load() < 2)
      std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(back.load(), 0);
    group.abortAll();
  });
  tgpt::test::onRanks(2, [&](int64_t rank) {
    exchange(rank, false);
    ++back;
  });
  watch.join();
}

TEST(EmulatedNccl, CallsAtTheWrongTimeAreRefused) {
  Group group(1);
  NcclComm comm = nullptr;
  NcclUniqueId id;
  group.nccl.uniqueId(&id);
  EXPECT_EQ(group.nccl.initRank(&comm, 1, id, 0, {}), NcclResult::InProgress);
  EXPECT_EQ(group.allReduce(comm, 1), NcclResult::InvalidUsage); // nobody has asked yet whether it is there
  NcclResult state = NcclResult::InProgress;
  while (state == NcclResult::InProgress)
    group.nccl.asyncError(comm, &state);
  EXPECT_EQ(group.allReduce(comm, 1), NcclResult::InProgress);
  EXPECT_EQ(group.allReduce(comm, 1), NcclResult::InvalidUsage); // nor whether that call is through
  while (group.nccl.asyncError(comm, &state) == NcclResult::Success && state == NcclResult::InProgress)
    ;
  int other;
  EXPECT_EQ(group.allReduce(comm, 1, NcclType::Float32, NcclOperation::Sum, &other), NcclResult::InvalidUsage);
  EXPECT_EQ(group.nccl.finalize(comm), NcclResult::InvalidUsage);
  group.nccl.runEnqueued();
  EXPECT_EQ(group.allReduce(comm, 1, NcclType::Float32, NcclOperation::Sum, &other), NcclResult::InProgress);
  group.nccl.runEnqueued();
  while (group.nccl.asyncError(comm, &state) == NcclResult::Success && state == NcclResult::InProgress)
    ;
  EXPECT_EQ(group.nccl.send(group.words, 1, NcclType::Float32, 1, comm, nullptr), NcclResult::InvalidUsage);
  EXPECT_EQ(group.nccl.groupEnd(), NcclResult::InvalidUsage);
  EXPECT_EQ(group.nccl.abort(comm), NcclResult::Success);
  EXPECT_EQ(group.allReduce(comm, 1), NcclResult::InvalidUsage);
  EXPECT_EQ(group.nccl.abort(comm), NcclResult::InvalidUsage);
  std::vector<std::string> misuses = group.nccl.misuses();
  ASSERT_EQ(misuses.size(), 8u);
  EXPECT_EQ(misuses[0], "all_reduce sum of 1 f32 on a communicator of which a call is in progress");
  EXPECT_EQ(misuses[2], "all_reduce sum of 1 f32 on one stream while its communicator has work under way on another");
  EXPECT_EQ(misuses[3], "ncclCommFinalize on a communicator with work under way");
  EXPECT_EQ(misuses[4], "send of 1 f32: rank 1 of a communicator of 1");
  EXPECT_EQ(misuses[6], "all_reduce sum of 1 f32 on a communicator that was aborted");
}

TEST(EmulatedNccl, RanksThatDoNotFitTogetherAreAnError) {
  EmulatedNccl nccl;
  NcclUniqueId id;
  nccl.uniqueId(&id);
  NcclCaller caller{nccl};
  std::vector<std::string> said(2);
  std::atomic<bool> isStopped{false};
  tgpt::test::onRanks(2, [&](int64_t i) {
    try {
      NcclHandle handle({nccl, [&] { return isStopped.load(); }}, "all ranks", id, 2 + i, 0);
    } catch (const Error &error) {
      said[i] = error.what();
      isStopped.store(true);
    } catch (const JobAborted &) {
    }
  });
  std::string text = said[0] + said[1];
  EXPECT_TRUE(has(text, "all ranks: ncclCommInitRankConfig says ncclInvalidArgument (a communicator of")) << text;
}

TEST(NcclHandle, MembersThatDoNotComeAreAnErrorInTime) {
  EmulatedNccl nccl;
  NcclUniqueId id;
  nccl.uniqueId(&id);
  NcclCaller caller{nccl};
  caller.setUpSeconds = 1;
  try {
    NcclHandle handle(caller, "all ranks", id, 2, 0);
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "all ranks: ncclCommInitRankConfig is still in progress after 1 s: some rank is not there "
                 "or cannot be reached (NCCL_DEBUG=INFO says more)");
  }
}

TEST(NcclHandle, SplitsByColorInTheOrderOfKeys) {
  Group group(5);
  tgpt::test::onRanks(5, [&](int64_t rank) {
    // Even ranks backwards; odd ones; rank 4 in none.
    int64_t color = rank == 4 ? ncclNoColor : rank % 2;
    auto part = group.handles[rank]->split("part", color, rank % 2 ? rank : -rank);
    ASSERT_EQ(part == nullptr, rank == 4);
    if (!part)
      return;
    float own = static_cast<float>(rank), all[2] = {};
    part->issue("ncclAllGather", [&](NcclApi &api, NcclComm comm) {
      return api.allGather(&own, all, 1, NcclType::Float32, comm, nullptr);
    });
    EXPECT_EQ(all[0], rank % 2 ? 1 : 2);
    EXPECT_EQ(all[1], rank % 2 ? 3 : 0);
  });
  EXPECT_EQ(group.nccl.misuses(), std::vector<std::string>());
}

TEST(EmulatedNccl, BroadcastsFromItsRoot) {
  Group group(3);
  tgpt::test::onRanks(3, [&](int64_t rank) {
    std::vector<float> own(20000, static_cast<float>(rank)), got(20000, -1);
    group.handles[rank]->issue("ncclBroadcast", [&](NcclApi &api, NcclComm comm) {
      return api.broadcast(own.data(), got.data(), own.size(), NcclType::Float32, 1, comm, nullptr);
    });
    EXPECT_EQ(got, std::vector<float>(20000, 1));
  });
}

/// Ranks are processes; the id reaches them by memory that they share.
TEST(EmulatedNccl, JoinsProcesses) {
  constexpr int ranks = 4;
  struct Page {
    std::atomic<int> isKnown;
    NcclUniqueId id;
  };
  auto *page =
      static_cast<Page *>(::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank)
    if (pid_t child = ::fork(); child != 0) {
      children.push_back(child);
    } else {
      bool isGood = false;
      try {
        EmulatedNccl nccl;
        if (rank == 0) {
          nccl.uniqueId(&page->id);
          page->isKnown.store(1);
        }
        while (!page->isKnown.load())
          ::usleep(100);
        NcclHandle all({nccl}, "all ranks", page->id, ranks, rank);
        std::unique_ptr<NcclHandle> half = all.split("half", rank % 2, rank);
        std::vector<float> values(50000, static_cast<float>(1 << rank)), sums(50000);
        auto reduce = [&](NcclHandle &handle) {
          handle.issue("ncclAllReduce", [&](NcclApi &api, NcclComm comm) {
            return api.allReduce(values.data(), sums.data(), values.size(), NcclType::Float32, NcclOperation::Sum, comm,
                                 nullptr);
          });
          return sums;
        };
        isGood = reduce(all) == std::vector<float>(50000, 15) &&
                 reduce(*half) == std::vector<float>(50000, rank % 2 ? 10 : 5) && nccl.misuses().empty();
      } catch (...) {
      }
      ::_exit(isGood ? 0 : 1);
    }
  for (pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  ::munmap(page, sizeof(Page));
}
