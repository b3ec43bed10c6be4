//===- WriteCluster.cpp - the text of a cluster file ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything is written out, also what a reader would take as given: a file says on what
// figures it was used.
//
//===----------------------------------------------------------------------===//

#include "cost/cluster/WriteCluster.h"
#include "cost/DeviceText.h"
#include "cost/cluster/ClusterFields.h"

namespace tgpt::cost {
namespace {

std::string textOf(double value) {
  return exact(value);
}

std::string textOf(const ByDtype &figures) {
  std::string text;
  for (size_t i = 0; i < dtypeNames.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::string(dtypeNames[i]) + ": " + exact(figures.figures[i]);
  return "{" + text + "}";
}

std::string textOf(const EfficiencyCurve &curve) {
  std::string text;
  for (auto [size, share] : curve.points)
    text += (text.empty() ? "[" : ", [") + exact(size) + ", " + exact(share) + "]";
  return "[" + text + "]";
}

/// The figures of a table's owner as keys and values; counts that are not bounded (0) have none.
template <typename Owner>
std::vector<std::pair<std::string, std::string>> figuresOf(const std::vector<ClusterField<Owner>> &fields,
                                                           const Owner &owner) {
  std::vector<std::pair<std::string, std::string>> figures;
  for (const ClusterField<Owner> &field : fields) {
    if (auto truth = std::get_if<bool Owner::*>(&field.member))
      figures.push_back({field.key, owner.**truth ? "true" : "false"});
    else if (double number = owner.*std::get<double Owner::*>(field.member);
             number != 0 || field.range != FigureRange::Count)
      figures.push_back({field.key, exact(number)});
  }
  return figures;
}

/// Lines of YAML, each figure below its comment.
class Writer {
public:
  explicit Writer(const CommentOf &commentOf) : commentOf(commentOf) {}

  void line(const std::string &line) { text += std::string(2 * depth, ' ') + line + "\n"; }
  void comment(const std::string &path) {
    if (std::string words = commentOf(path); !words.empty())
      line("# " + words);
  }
  void figure(const std::string &path, const std::string &value) {
    comment(path);
    line(path.substr(path.rfind('.') + 1) + ": " + value);
  }
  /// What `body` writes, one level deeper.
  template <typename Body> void section(const std::string &path, const Body &body) {
    comment(path);
    line(path.substr(path.rfind('.') + 1) + ":");
    ++depth;
    body(path + ".");
    --depth;
  }

  std::string text;

private:
  const CommentOf &commentOf;
  int depth = 0;
};

void writeDevice(Writer &writer, const DeviceProfile &device) {
  writer.section("device", [&](const std::string &path) {
    writer.figure(path + "name", device.name);
    for (const DeviceField &field : deviceFields())
      writer.figure(path + field.key, std::visit([&](auto member) { return textOf(device.*member); }, field.member));
  });
}

void writeLevels(Writer &writer, const Cluster &cluster) {
  writer.figure("ranks_per_node", exact(cluster.topology.ranksPerNode));
  writer.section("levels", [&](const std::string &path) {
    for (int i = 0; i < cluster.topology.levelCount; ++i) {
      writer.comment(path + cluster.levelNames[i]);
      std::string text = "- {name: " + cluster.levelNames[i];
      for (const auto &[key, value] : figuresOf(levelFields(), cluster.topology.levels[i]))
        text += ", " + key + ": " + value;
      writer.line(text + "}");
    }
  });
}

void writeKernel(Writer &writer, const std::string &path, const MeasuredRates::ByDtype &rates) {
  writer.section(path, [&](const std::string &kernel) {
    for (size_t i = 0; i < rates.size(); ++i)
      if (const std::optional<KernelRate> &rate = rates[i])
        writer.figure(kernel + dtypeNames[i], "{call_seconds: " + exact(rate->callSeconds) +
                                                  ", seconds_per_operation: " + exact(rate->secondsPerOperation) +
                                                  ", seconds_per_byte: " + exact(rate->secondsPerByte) +
                                                  ", seconds_per_item: " + exact(rate->secondsPerItem) + "}");
  });
}

void writeExchange(Writer &writer, const std::string &path, const std::vector<ExchangeRate> &rates) {
  writer.section(path, [&](const std::string &exchange) {
    for (const ExchangeRate &rate : rates) {
      writer.comment(exchange + exact(rate.ranks));
      writer.line("- {ranks: " + exact(rate.ranks) + ", latency_seconds: " + exact(rate.latencySeconds) +
                  ", seconds_per_byte: " + exact(rate.secondsPerByte) + "}");
    }
  });
}

/// `{}` for a map without entries.
template <typename Map, typename Write>
void writeMap(Writer &writer, const std::string &path, const Map &map, const Write &write) {
  if (map.empty())
    return writer.figure(path, "{}");
  writer.section(path, [&](const std::string &entries) {
    for (const auto &[name, rates] : map)
      write(writer, entries + name, rates);
  });
}

void writeMeasured(Writer &writer, const MeasuredRates &measured) {
  writer.section("measured", [&](const std::string &path) {
    writer.figure(path + "step_seconds", exact(measured.stepSeconds));
    writer.figure(path + "step_rank_seconds", exact(measured.stepRankSeconds));
    writer.figure(path + "busy_cores_share", exact(measured.busyCoresShare));
    writeMap(writer, path + "kernels", measured.kernels, writeKernel);
    writeMap(writer, path + "exchanges", measured.exchanges, writeExchange);
  });
}

} // namespace

std::string clusterText(const Cluster &cluster, const std::vector<std::string> &head, const CommentOf &commentOf) {
  Writer writer(commentOf);
  for (const std::string &line : head)
    writer.line("# " + line);
  writer.figure("name", cluster.name);
  if (cluster.coresPerNode > 0)
    writer.figure("cores_per_node", exact(cluster.coresPerNode));
  writeDevice(writer, cluster.device);
  if (cluster.topology.ranksPerNode > 0)
    writeLevels(writer, cluster);
  if (cluster.productWorkspaceBytes > 0)
    writer.figure("product_workspace_bytes", exact(cluster.productWorkspaceBytes));
  auto write = [&](const std::string &name, const auto &figures) {
    writer.section(name, [&](const std::string &path) {
      for (const auto &[key, value] : figures)
        writer.figure(path + key, value);
    });
  };
  write("communicator", figuresOf(communicatorFields(), cluster.communicator));
  write("software", figuresOf(softwareFields(), cluster.software));
  if (cluster.measured)
    writeMeasured(writer, *cluster.measured);
  return writer.text;
}

} // namespace tgpt::cost
