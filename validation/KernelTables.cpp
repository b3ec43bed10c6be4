//===- KernelTables.cpp - measured products and collectives against their curves ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "validation/KernelTables.h"
#include "cost/CollectiveTime.h"
#include "validation/CsvTable.h"

namespace tgpt::validation {
namespace {

using cost::OperandType;

Observation observeProduct(const Constants &constants, const std::string &table, const std::string &deviceName,
                           cost::OperandType type, const cost::Gemm &gemm, double flopsPerSecond,
                           const std::string &place) {
  cost::DeviceRates device = constants.device(deviceName);
  std::string group =
      deviceName + " " + std::to_string(gemm.m) + " " + std::to_string(gemm.n) + " " + std::to_string(gemm.k);
  double predicted = cost::gemmSeconds(device.curve(type), device.memoryBytesPerSecond, gemm);
  return {table, place, place, table, isHeldOut(group), gemm.flops() / flopsPerSecond, predicted};
}

std::string fileAndLine(const CsvRow &row) {
  return row.place.substr(row.place.rfind('/') + 1);
}

double collectiveSeconds(const std::string &op, const cost::Topology &topology, const cost::Group &group,
                         double bytes) {
  if (op == "all-reduce" || op == "all_reduce")
    return cost::allReduceSeconds(topology, group, bytes);
  if (op == "all-gather")
    return cost::allGatherSeconds(topology, group, bytes);
  if (op == "reduce-scatter")
    return cost::reduceScatterSeconds(topology, group, bytes);
  return cost::allToAllSeconds(topology, group, bytes);
}

} // namespace

std::vector<Observation> observeProducts(const std::string &folder, const Constants &constants) {
  std::vector<Observation> observations;
  // Products shorter than about 100 us carry the start of a PyTorch call in EleutherAI's sweeps.
  constexpr double smallestFlops = 1e9, smallestOfPyTorch = 2e10;
  for (const CsvRow &row : readCsv(folder + "/xla_gemm_perf_table.csv")) {
    cost::Gemm gemm{row.number("b"), row.number("m"), row.number("n"), row.number("k"), 2, 2};
    bool hopper = row.text("arch") == "sm_90";
    if (gemm.flops() >= smallestFlops)
      observations.push_back(observeProduct(constants, hopper ? "products, H100 (XLA)" : "products, B200 (XLA)",
                                            hopper ? "h100" : "b200", OperandType::Bits16, gemm,
                                            row.number("bf16_tflops") * 1e12, fileAndLine(row)));
  }
  for (const CsvRow &row : readCsv(folder + "/eleuther_gemm_sweeps.csv")) {
    cost::Gemm gemm{row.number("b"), row.number("dim1"), row.number("dim2"), row.number("dim3"), 2, 2};
    bool ampere = row.text("gpu") == "A100";
    // Sizes off 64 pay for their alignment; a model's are chosen on it.
    bool aligned = std::fmod(gemm.m, 64) == 0 && std::fmod(gemm.n, 64) == 0 && std::fmod(gemm.k, 64) == 0;
    if (gemm.flops() >= smallestOfPyTorch && aligned)
      observations.push_back(observeProduct(
          constants, ampere ? "products, A100 (EleutherAI)" : "products, V100 (EleutherAI)",
          ampere ? "a100-80" : "v100-16", OperandType::Bits16, gemm, row.number("tflops") * 1e12, fileAndLine(row)));
  }
  for (const CsvRow &row : readCsv(folder + "/azure_gemm.csv")) {
    OperandType type = row.text("dtype") == "fp8" ? OperandType::Fp8 : OperandType::Bits16;
    cost::Gemm gemm{1, row.number("m"), row.number("n"), row.number("k"), type == OperandType::Fp8 ? 1. : 2., 2};
    std::string device = row.text("gpu") == "A100" ? "a100-80" : row.text("gpu") == "H100" ? "h100" : "h200";
    if (std::fmod(gemm.n, 64) == 0)
      observations.push_back(observeProduct(constants,
                                            "products, " + row.text("gpu") + " " + row.text("dtype") + " (Azure)",
                                            device, type, gemm, row.number("tflops") * 1e12, fileAndLine(row)));
  }
  return observations;
}

static void observeCollective(const CsvRow &row, const std::string &table, const std::string &clusterName,
                              const std::string &op, double ranks, double bytes, double measured,
                              const Constants &constants, std::vector<Observation> &observations) {
  constexpr double smallestBytes = 65536;
  if (bytes < smallestBytes)
    return;
  double predicted = collectiveSeconds(op, constants.topology(clusterName), {ranks, 1}, bytes);
  std::string group = clusterName + " " + op + " " + std::to_string(ranks) + " " + std::to_string(bytes);
  observations.push_back({table, fileAndLine(row), op, clusterName, isHeldOut(group), measured, predicted});
}

static void observeXla(const CsvRow &row, const Constants &constants, std::vector<Observation> &observations) {
  bool hopper = row.text("arch") == "sm_90";
  observeCollective(row, hopper ? "collectives, H100 (XLA)" : "collectives, B200 (XLA)", hopper ? "h100" : "b200",
                    row.text("op"), row.number("devices_per_group"), row.number("tensor_bytes"),
                    row.number("time_us") * 1e-6, constants, observations);
}

/// The cluster of a row of nccl-tests; empty where none of ours is like it.
static std::string clusterOf(const CsvRow &row) {
  const std::string &gpu = row.text("gpu");
  if (row.contains("gpu", "not stated"))
    return "unnamed-100g";
  return gpu == "A100" ? "a100" : gpu == "H100" || gpu == "H200" ? "h100" : gpu == "B200" ? "b200" : "";
}

static void observeNcclTests(const CsvRow &row, const Constants &constants, std::vector<Observation> &observations) {
  std::string cluster = clusterOf(row);
  bool oneHost = row.text("n_nodes") == "1";
  // Groups of 4 to 7 ranks were measured with and without the switch's reduction, in one column.
  if (cluster.empty() || !row.has("busbw_GBps") || (oneHost && row.text("n_gpus") != "8") ||
      row.contains("location", "SHARP"))
    return;
  double ranks = row.number("n_gpus"), bytes = row.number("size_bytes");
  double wire = 2 * (ranks - 1) / ranks * bytes, rate = row.number("busbw_GBps") * 1e9;
  if (rate >= 1e9)
    observeCollective(row, oneHost ? "all_reduce on a node (nccl-tests)" : "all_reduce over 4 nodes (nccl-tests)",
                      cluster, "all_reduce", ranks, bytes, wire / rate, constants, observations);
}

/// Sends between stages, in the time that the authors profiled, host included.
static void observeSend(const CsvRow &row, const Constants &constants, std::vector<Observation> &observations) {
  double bytes = 2 * row.number("micro_batch") * row.number("seq") * row.number("hidden");
  cost::Topology topology = constants.topology("a100-zero-bubble");
  double predicted =
      cost::sendSeconds(topology, 1, bytes) + constants.software("megatron-zero-bubble").sendStartSeconds;
  std::string group = "send " + row.text("model");
  observations.push_back({"sends between stages (zero bubble)", fileAndLine(row), row.text("model"), group,
                          isHeldOut(group), row.number("T_comm_ms") / 1000, predicted});
}

std::vector<Observation> observeCollectives(const std::string &folder, const Constants &constants) {
  std::vector<Observation> observations;
  for (const CsvRow &row : readCsv(folder + "/xla_collective_perf_table.csv"))
    observeXla(row, constants, observations);
  for (const CsvRow &row : readCsv(folder + "/network_measurements.csv"))
    observeNcclTests(row, constants, observations);
  for (const CsvRow &row : readCsv(folder + "/zero_bubble_2401_10241_stage_times.csv"))
    observeSend(row, constants, observations);
  return observations;
}

} // namespace tgpt::validation
