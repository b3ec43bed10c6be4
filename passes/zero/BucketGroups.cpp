//===- BucketGroups.cpp - which parameters share a bucket ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters of one kind and one layer form a chunk, which is never cut; consecutive
// chunks of a kind form a bucket.
//
//===----------------------------------------------------------------------===//

#include "passes/zero/BucketGroups.h"
#include "cost/SumNodes.h"
#include "dialects/dist/FlatTensor.h"
#include "passes/pipeline/StageLayers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <set>

using namespace mlir;
using namespace tgpt;

llvm::DenseMap<StringAttr, SmallVector<StringAttr>> tgpt::findNodes(ModuleOp module) {
  llvm::DenseMap<StringAttr, SmallVector<StringAttr>> nodes;
  func::FuncOp microBatch = findPhase(module, "micro_batch");
  if (!microBatch)
    return nodes;
  microBatch.walk([&](AccumulateOp accumulate) {
    if (!accumulate.getNodesOf())
      return;
    int64_t addends = *accumulate.getMicroBatches() * accumulate.getParts();
    SmallVector<StringAttr> &own = nodes[accumulate.getSymbolAttr().getAttr()];
    own.clear(); // the parts of a micro-batch say the same
    for (auto carry : accumulate.getCarries()->getAsRange<FlatSymbolRefAttr>())
      if (int64_t(own.size()) + 1 < mostSumNodes(addends, *accumulate.getNodesOf()))
        own.push_back(carry.getAttr());
  });
  return nodes;
}

/// The layers in which each variable is used.
static llvm::DenseMap<StringAttr, std::set<int64_t>> findLayers(func::FuncOp microBatch) {
  llvm::DenseMap<StringAttr, std::set<int64_t>> layers;
  microBatch.walk([&](ReadOp read) {
    for (Operation *user : read.getValue().getUsers())
      if (auto layer = user->getAttrOfType<IntegerAttr>(layerAttributeName))
        layers[read.getSymbolAttr().getAttr()].insert(layer.getInt());
  });
  return layers;
}

/// States that hold sums of some micro-batches only.
static llvm::DenseSet<StringAttr> findCarries(func::FuncOp microBatch) {
  llvm::DenseSet<StringAttr> carries;
  microBatch.walk([&](AccumulateOp accumulate) {
    SmallVector<FlatSymbolRefAttr> levels = accumulate.getLevels();
    for (FlatSymbolRefAttr level : ArrayRef(levels).drop_back())
      carries.insert(level.getAttr());
  });
  return carries;
}

SmallVector<TrainedParameter> tgpt::findTrainedParameters(ModuleOp module) {
  func::FuncOp microBatch = findPhase(module, "micro_batch");
  llvm::DenseMap<StringAttr, std::set<int64_t>> layersOf;
  llvm::DenseSet<StringAttr> carries;
  if (microBatch) {
    layersOf = findLayers(microBatch);
    carries = findCarries(microBatch);
  }
  SymbolTable symbols(module);
  llvm::DenseMap<StringAttr, SmallVector<StringAttr>> nodesOf = findNodes(module);
  auto nodesNamed = [&](StateOp gradient) {
    return llvm::map_to_vector(nodesOf.lookup(gradient.getSymNameAttr()),
                               [&](StringAttr name) { return symbols.lookup<StateOp>(name); });
  };
  SmallVector<TrainedParameter> trained;
  llvm::DenseMap<StringAttr, size_t> places;
  for (auto gradient : module.getOps<StateOp>()) {
    if (gradient.getRole() != StateRole::Gradient || carries.contains(gradient.getSymNameAttr()))
      continue;
    auto parameter = symbols.lookup<ParameterOp>(gradient.getParameterAttr().getAttr());
    auto [place, isFirst] = places.try_emplace(parameter.getSymNameAttr(), trained.size());
    if (!isFirst) {
      trained[place->second].moreGradients.push_back(gradient);
      trained[place->second].nodes.push_back(nodesNamed(gradient));
      continue;
    }
    const std::set<int64_t> &layers = layersOf[parameter.getSymNameAttr()];
    trained.push_back(
        {parameter, gradient, {}, SmallVector<int64_t>(layers.begin(), layers.end()), {nodesNamed(gradient)}});
    if (layers.empty())
      trained.back().layers.push_back(-1);
  }
  return trained;
}

namespace {

/// Parameters that stay together.
struct Chunk {
  SmallVector<TrainedParameter> members;
  int64_t firstIndex = 0; ///< of the first member, among all parameters
  int64_t bytes = 0;      ///< of their gradients
  bool isShared = false;  ///< it is used several times
  int64_t stage = 0;
};

} // namespace

/// What members of a bucket have in common, as text.
static std::string kindOf(const TrainedParameter &entry) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  ParameterOp parameter = entry.parameter;
  StateOp gradient = entry.gradient;
  auto type = cast<RankedTensorType>(parameter.getType()), gradientType = cast<RankedTensorType>(gradient.getType());
  stream << type.getElementType() << " " << gradientType.getElementType()
         << (parameter.getNoDecay() ? " undecayed" : " decayed");
  for (StringRef axis : dist::shardingAxesOf(dist::layoutOf(type)))
    stream << " sharded " << axis;
  for (StringRef axis : dist::layoutOf(gradientType).partialAxes())
    stream << " partial " << axis;
  return text;
}

/// Chunks of each kind, in the order of the module.
static llvm::MapVector<StringRef, SmallVector<Chunk>>
formChunks(ArrayRef<TrainedParameter> parameters, llvm::StringSet<> &kinds, function_ref<int64_t(int64_t)> stageOf) {
  llvm::MapVector<StringRef, SmallVector<Chunk>> chunksOf;
  for (auto [index, entry] : llvm::enumerate(parameters)) {
    StringRef kind = kinds.insert(kindOf(entry)).first->getKey();
    SmallVector<Chunk> &chunks = chunksOf[kind];
    bool isShared = entry.layers.size() > 1 || !entry.moreGradients.empty();
    auto same = [&](const Chunk &chunk) {
      return !isShared && !chunk.isShared && chunk.members.front().layers == entry.layers;
    };
    auto chunk = llvm::find_if(chunks, same);
    if (chunk == chunks.end()) {
      chunks.push_back({{}, static_cast<int64_t>(index), 0, isShared, stageOf(entry.layers.front())});
      chunk = std::prev(chunks.end());
    }
    StateOp gradient = entry.gradient;
    chunk->members.push_back(entry);
    chunk->bytes += bytesOf(gradient.getType());
  }
  return chunksOf;
}

/// Consecutive chunks merged while they fit.
static SmallVector<Chunk> mergeChunks(ArrayRef<Chunk> chunks, int64_t bytesLimit) {
  SmallVector<Chunk> merged;
  for (const Chunk &chunk : chunks) {
    bool fits = !merged.empty() && !merged.back().isShared && !chunk.isShared && merged.back().stage == chunk.stage &&
                merged.back().bytes + chunk.bytes <= bytesLimit;
    if (!fits) {
      merged.push_back(chunk);
      continue;
    }
    llvm::append_range(merged.back().members, chunk.members);
    merged.back().bytes += chunk.bytes;
  }
  return merged;
}

/// "layers.3" for "layers.3.attn.q.weight", "embed" for "embed.weight".
static StringRef scopeOf(StringRef parameter) {
  size_t end = parameter.find('.');
  if (parameter.starts_with("layers.") && end != StringRef::npos)
    end = parameter.find('.', end + 1);
  return parameter.substr(0, end);
}

static std::string nameOf(const Chunk &chunk, llvm::StringSet<> &taken) {
  ParameterOp first = chunk.members.front().parameter, last = chunk.members.back().parameter;
  std::string name = scopeOf(first.getSymName()).str();
  if (scopeOf(last.getSymName()) != name)
    name += "_to_" + scopeOf(last.getSymName()).str();
  name += first.getNoDecay() ? ".undecayed" : ".decayed";
  std::string unique = name;
  for (int64_t number = 1; !taken.insert(unique).second; ++number)
    unique = name + "." + std::to_string(number);
  return unique;
}

SmallVector<BucketGroup> tgpt::groupIntoBuckets(ArrayRef<TrainedParameter> parameters, int64_t bytesLimit,
                                                function_ref<int64_t(int64_t)> stageOf) {
  llvm::StringSet<> kinds, taken;
  SmallVector<Chunk> all;
  for (auto &[kind, chunks] : formChunks(parameters, kinds, stageOf))
    llvm::append_range(all, mergeChunks(chunks, bytesLimit));
  llvm::stable_sort(all, [](const Chunk &a, const Chunk &b) { return a.firstIndex < b.firstIndex; });
  SmallVector<BucketGroup> groups;
  for (const Chunk &chunk : all)
    groups.push_back({nameOf(chunk, taken), chunk.members});
  return groups;
}
