//===- Constants.cpp - the model's constants, from a committed file ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "validation/Constants.h"
#include "validation/CsvTable.h"

namespace tgpt::validation {

Constants::Constants(const std::string &path) : path(path) {
  for (const CsvRow &row : readCsv(path)) {
    if (!values.emplace(row.text("name"), row.number("value")).second)
      throw TableError(row.place + ": '" + row.text("name") + "' is there twice");
  }
}

double Constants::at(const std::string &name) const {
  auto found = values.find(name);
  if (found == values.end())
    throw TableError(path + ": no constant '" + name + "'");
  return found->second;
}

double Constants::at(const std::string &name, double otherwise) const {
  auto found = values.find(name);
  return found == values.end() ? otherwise : found->second;
}

cost::DeviceRates Constants::device(const std::string &name) const {
  std::string key = "device." + name + ".";
  cost::DeviceRates rates;
  rates.memoryBytesPerSecond = at(key + "memory_bytes_per_second");
  rates.memoryFraction = at(key + "memory_fraction");
  rates.kernelStartSeconds = at(key + "kernel_start_seconds");
  rates.powerFraction = at(key + "power_fraction", 1);
  for (std::size_t type = 0; type < rates.gemm.size(); ++type) {
    std::string curveKey = key + cost::operandTypeNames[type] + ".";
    cost::GemmCurve &curve = rates.gemm[type];
    curve.peakFlopsPerSecond = at(curveKey + "peak_flops_per_second", 0);
    curve.efficiency = at(curveKey + "efficiency", 1);
    curve.sustainedFraction = at(curveKey + "sustained_fraction", 1);
    curve.kHalf = at(key + "k_half");
    curve.waveSoftness = at(key + "wave_softness");
    curve.startSeconds = rates.kernelStartSeconds;
    curve.memoryFraction = at(key + "gemm_memory_fraction");
    curve.units = at(key + "units");
    curve.tileN = at(key + "tile_n", 128);
  }
  rates.attentionForwardFlopsPerSecond = at(key + "attention_forward_flops_per_second");
  rates.attentionBackwardFlopsPerSecond = at(key + "attention_backward_flops_per_second");
  return rates;
}

cost::Topology Constants::topology(const std::string &name) const {
  std::string key = "cluster." + name + ".";
  cost::Level node, network;
  node.bytesPerSecond = at(key + "node_bytes_per_second");
  node.reducingBytesPerSecond = at(key + "node_reducing_bytes_per_second", 0);
  node.latencySeconds = at(key + "node_latency_seconds");
  node.fillSeconds = at(key + "node_fill_seconds");
  node.sendFillSeconds = at("node.send_fill_seconds");
  network.bytesPerSecond = at(key + "network_bytes_per_second");
  network.hopSeconds = at("network.latency_seconds");
  network.fillSeconds = at("network.fill_seconds");
  network.sendFillSeconds = at("network.send_fill_seconds");
  return cost::Topology::ofNodes(at(key + "ranks_per_node"), node, network);
}

cost::Software Constants::software(const std::string &name) const {
  std::string key = "software." + name + ".";
  cost::Software software;
  software.elementwiseTraffic = at(key + "elementwise_traffic");
  software.attentionRate = at(key + "attention_rate", 1);
  software.tensorOverlap = at(key + "tensor_overlap", 0);
  software.reduceOverlap = at(key + "reduce_overlap", 0);
  software.gatherOverlap = at(key + "gather_overlap", 0);
  software.shardOverlap = at(key + "shard_overlap", 1);
  software.pipelineOverlap = at(key + "pipeline_overlap", 0);
  software.overlapSlowdown = at("software.overlap_slowdown");
  software.gradientBytes = at(key + "gradient_bytes");
  software.kernelsPerLayer = at(key + "kernels_per_layer", 30);
  software.stepSeconds = at(key + "step_seconds", 0);
  software.sendStartSeconds = at(key + "send_start_seconds", 0);
  software.dataBandwidth = at(key + "data_bandwidth", 1);
  software.recomputeStopsEarly = at(key + "recompute_stops_early", 0) > 0;
  software.castTraffic = at(key + "cast_traffic", 0);
  software.ringHasAllHeads = at(key + "ring_has_all_heads", 0) > 0;
  software.ringForwardTraffic = at(key + "ring_forward_traffic", 0);
  software.ringBackwardTraffic = at(key + "ring_backward_traffic", 0);
  return software;
}

AllocatorEdge Constants::edge(const std::string &device, const std::string &software) const {
  AllocatorEdge edge;
  edge.poolLayers = at("software." + software + ".pool_layers", 0);
  if (edge.poolLayers <= 0)
    return edge;
  edge.capacityBytes = at("device." + device + ".capacity_bytes") - at("software." + software + ".outside_bytes");
  edge.remapBytesPerSecond = at("software." + software + ".remap_bytes_per_second");
  return edge;
}

} // namespace tgpt::validation
