//===- RankIdentityTest.cpp - environments of launchers, whole and by half -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/launch/RankIdentity.h"
#include "runtime/plan/Error.h"

#include <gtest/gtest.h>

#include <map>

using namespace tgpt::runtime;

namespace {
using Variables = std::map<std::string, std::string>;

std::optional<RankIdentity> identify(LaunchKind kind, const Variables &variables) {
  return identifyRank(kind, [&](const char *name) {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string errorOf(LaunchKind kind, const Variables &variables) {
  try {
    identify(kind, variables);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

const Variables torchrun = {
    {"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}};
const Variables mpirun = {{"OMPI_COMM_WORLD_RANK", "5"},
                          {"OMPI_COMM_WORLD_SIZE", "8"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "5"},
                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"},
                          {"PMIX_NAMESPACE", "3141"}};
const Variables srun = {{"SLURM_PROCID", "2"},  {"SLURM_NTASKS", "4"},   {"SLURM_LOCALID", "0"},
                        {"SLURM_STEP_ID", "0"}, {"SLURM_JOB_ID", "981"}, {"SLURM_STEP_NODELIST", "gpu[07-08],x"}};

Variables with(Variables variables, const Variables &more) {
  for (const auto &[name, value] : more)
    variables[name] = value;
  return variables;
}
Variables without(Variables variables, const std::string &name) {
  variables.erase(name);
  return variables;
}
} // namespace

TEST(RankIdentity, OfEachLauncher) {
  std::optional<RankIdentity> torch = identify(LaunchKind::Detect, torchrun);
  ASSERT_TRUE(torch);
  EXPECT_EQ(torch->rank, 3);
  EXPECT_EQ(torch->ranks, 8);
  EXPECT_EQ(torch->localRank, 1);
  EXPECT_EQ(torch->address, "node7");
  EXPECT_EQ(torch->port, 29500);
  EXPECT_EQ(torch->listener, -1);
  std::optional<RankIdentity> mpi = identify(LaunchKind::Detect, mpirun);
  ASSERT_TRUE(mpi);
  EXPECT_EQ(mpi->rank, 5);
  EXPECT_EQ(mpi->address, "127.0.0.1");
  EXPECT_EQ(mpi->port, identify(LaunchKind::Mpi, with(mpirun, {{"OMPI_COMM_WORLD_RANK", "0"}}))->port);
  std::optional<RankIdentity> slurm = identify(LaunchKind::Detect, srun);
  ASSERT_TRUE(slurm);
  EXPECT_EQ(slurm->rank, 2);
  EXPECT_EQ(slurm->ranks, 4);
  EXPECT_EQ(slurm->address, "gpu07");
  EXPECT_GE(slurm->port, 20000);
}

TEST(RankIdentity, ThreadsWhereNobodyLaunched) {
  EXPECT_FALSE(identify(LaunchKind::Detect, {}));
  EXPECT_FALSE(identify(LaunchKind::Threads, torchrun));
  // The script of a batch job is one process, though it is told of the tasks that it may start.
  EXPECT_FALSE(identify(LaunchKind::Detect, without(srun, "SLURM_STEP_ID")));
  EXPECT_TRUE(identify(LaunchKind::Slurm, without(srun, "SLURM_STEP_ID")));
}

TEST(RankIdentity, TheInnermostLauncherCounts) {
  EXPECT_EQ(identify(LaunchKind::Detect, with(srun, mpirun))->rank, 5);
  EXPECT_EQ(identify(LaunchKind::Detect, with(srun, torchrun))->rank, 3);
  EXPECT_EQ(identify(LaunchKind::Slurm, with(srun, torchrun))->rank, 2);
  // torchrun's own store has the port.
  EXPECT_EQ(identify(LaunchKind::Detect, with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}}))->port, 29501);
}

TEST(RankIdentity, HalfAnEnvironmentIsAnError) {
  EXPECT_EQ(errorOf(LaunchKind::Torchrun, {}),
            "the environment of torchrun is not there: RANK, WORLD_SIZE, LOCAL_RANK are not set");
  EXPECT_EQ(errorOf(LaunchKind::Torchrun, without(torchrun, "RANK")),
            "the environment of torchrun is there by half: WORLD_SIZE, LOCAL_RANK, but not RANK");
  EXPECT_EQ(errorOf(LaunchKind::Detect, without(torchrun, "WORLD_SIZE")),
            "the environment of torchrun is there by half: RANK, LOCAL_RANK, but not WORLD_SIZE");
  EXPECT_EQ(errorOf(LaunchKind::Detect, without(torchrun, "LOCAL_RANK")),
            "the environment of torchrun is there by half: RANK, WORLD_SIZE, but not LOCAL_RANK; set it, or run ranks "
            "as threads with --launch=threads");
  EXPECT_EQ(errorOf(LaunchKind::Detect, without(torchrun, "MASTER_ADDR")),
            "the environment of torchrun does not say where ranks meet: set MASTER_ADDR (the host of rank 0)");
  EXPECT_EQ(errorOf(LaunchKind::Detect, without(without(torchrun, "MASTER_PORT"), "MASTER_ADDR")),
            "the environment of torchrun does not say where ranks meet: set MASTER_ADDR (the host of rank 0) and "
            "MASTER_PORT (a free port there)");
  EXPECT_EQ(errorOf(LaunchKind::Detect, without(mpirun, "OMPI_COMM_WORLD_RANK")),
            "the environment of mpirun is there by half: OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_RANK, but not "
            "OMPI_COMM_WORLD_RANK");
  EXPECT_EQ(errorOf(LaunchKind::Detect, with(mpirun, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}})),
            "the environment of mpirun does not say where ranks meet: set MASTER_ADDR (the host of rank 0)");
}

TEST(RankIdentity, NumbersAreChecked) {
  EXPECT_EQ(errorOf(LaunchKind::Detect, with(torchrun, {{"RANK", "8"}})),
            "RANK is 8, but WORLD_SIZE is 8: ranks count from 0 to 7");
  EXPECT_EQ(errorOf(LaunchKind::Detect, with(torchrun, {{"WORLD_SIZE", "eight"}})),
            "WORLD_SIZE is 'eight' in the environment, expected a number from 1 to 1048576");
  EXPECT_EQ(errorOf(LaunchKind::Detect, with(torchrun, {{"MASTER_PORT", "70000"}})),
            "MASTER_PORT is '70000' in the environment, expected a number from 1 to 65535");
  EXPECT_EQ(errorOf(LaunchKind::Detect, with(mpirun, {{"RANK", "4"}})),
            "RANK is 4 in the environment, but OMPI_COMM_WORLD_RANK is 5: unset one of them, or say which counts with "
            "--launch");
}

TEST(RankIdentity, FirstHostOfASlurmList) {
  EXPECT_EQ(firstHost("node1"), "node1");
  EXPECT_EQ(firstHost("node1,node2"), "node1");
  EXPECT_EQ(firstHost("node[07-09,12],login"), "node07");
  EXPECT_EQ(firstHost("a,node[1-2]"), "a");
  EXPECT_EQ(firstHost("rack[3]-n.local,b"), "rack3-n.local");
}
