//===- test/e2e/ChunkOrderTest.cpp - any order of chunks computes what one rank computes -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Drawn models on drawn grids, cut at drawn layers into one to three chunks a stage, some of
// them empty, and run in a drawn order: the segments of all stages in one line that respects
// what each needs, of which every stage runs its part. So no schedule of the compiler's own
// is needed, and orders are met that none of its schedules has. Half of the programs have
// weight_gradients, which run at any time after their backward, the micro-batches in any order.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "test/e2e/Comparison.h"
#include "test/e2e/Configuration.h"
#include "test/e2e/InProcessCompiler.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <random>

using namespace mlir;
using namespace tgpt;
using namespace tgpt::runtime;

namespace {

constexpr double tolerance = 1e-10; // Comparison.h says why

/// A segment of a virtual stage, for a micro-batch.
struct Work {
  dist::SegmentKind kind;
  int64_t virtualStage, microBatch;
};

/// A virtual stage that has segments.
struct BusyStage {
  int64_t virtualStage;
  bool hasWeightGradients = false;
};

/// Draws the order in which the busy virtual stages run their work.
class OrderDraw {
public:
  /// With `inOrder` weight_gradients come in the order of their micro-batches too.
  OrderDraw(std::mt19937_64 &random, std::vector<BusyStage> busy, int64_t microBatches, bool inOrder)
      : random(random), busy(std::move(busy)), microBatches(microBatches), inOrder(inOrder),
        forwards(this->busy.size()), backwards(this->busy.size()), waiting(this->busy.size()) {}

  std::vector<Work> draw() {
    std::vector<Work> line;
    for (;;) {
      std::vector<std::pair<size_t, dist::SegmentKind>> ready;
      for (size_t i = 0; i < busy.size(); ++i)
        for (dist::SegmentKind kind :
             {dist::SegmentKind::Forward, dist::SegmentKind::Backward, dist::SegmentKind::WeightGradient})
          if (isReady(i, kind))
            ready.push_back({i, kind});
      if (ready.empty())
        return line;
      auto [i, kind] = ready[random() % ready.size()];
      line.push_back({kind, busy[i].virtualStage, take(i, kind)});
    }
  }

private:
  bool isReady(size_t i, dist::SegmentKind kind) const {
    if (kind == dist::SegmentKind::Forward)
      return forwards[i] < microBatches && (i == 0 || forwards[i - 1] > forwards[i]);
    if (kind == dist::SegmentKind::Backward)
      return (i + 1 == busy.size() ? forwards[i] : std::min(backwards[i + 1], forwards[i])) > backwards[i];
    return !waiting[i].empty();
  }

  /// The micro-batch that is next.
  int64_t take(size_t i, dist::SegmentKind kind) {
    if (kind == dist::SegmentKind::Forward)
      return forwards[i]++;
    if (kind == dist::SegmentKind::Backward) {
      if (busy[i].hasWeightGradients)
        waiting[i].push_back(backwards[i]);
      return backwards[i]++;
    }
    auto next = waiting[i].begin() + (inOrder ? 0 : random() % waiting[i].size());
    int64_t microBatch = *next;
    waiting[i].erase(next);
    return microBatch;
  }

  std::mt19937_64 &random;
  std::vector<BusyStage> busy;
  int64_t microBatches;
  bool inOrder;
  std::vector<int64_t> forwards, backwards;  ///< run so far, of each
  std::vector<std::vector<int64_t>> waiting; ///< micro-batches whose weight_gradient is to come
};

/// The schedule of one stage, with slots as they come free.
class StageEntries {
public:
  explicit StageEntries(int64_t chunks) : inUse(chunks), slots(chunks) {}

  /// `isLast`: the slot is free behind it.
  void add(dist::SegmentKind kind, int64_t chunk, int64_t microBatch, bool isLast) {
    std::map<int64_t, int64_t> &held = inUse[chunk]; // micro-batch -> slot
    if (kind == dist::SegmentKind::Forward) {
      int64_t slot = 0;
      while (std::any_of(held.begin(), held.end(), [&](const auto &entry) { return entry.second == slot; }))
        ++slot;
      held[microBatch] = slot;
      slots[chunk] = std::max(slots[chunk], slot + 1);
    }
    const char *letter = kind == dist::SegmentKind::Forward ? "F" : kind == dist::SegmentKind::Backward ? "B" : "W";
    texts.push_back(letter + std::to_string(microBatch) + (chunk == 0 ? "" : "." + std::to_string(chunk)) + "@" +
                    std::to_string(held[microBatch]));
    if (isLast)
      held.erase(microBatch);
  }

  std::vector<std::map<int64_t, int64_t>> inUse;
  std::vector<int64_t> slots;
  std::vector<std::string> texts;
};

class ChunkOrders {
public:
  explicit ChunkOrders(uint64_t seed) : draw(seed), random(seed) {}

  void run(int models, int gridsPerModel) {
    for (int i = 0; i < models; ++i) {
      Configuration model = draw.model();
      model.model.layers = oneOf({1, 3, 5, 5, 7});
      TrainingSettings settings;
      settings.ignored = model.ignored;
      std::vector<Snapshot> expected = train(compiler.compile(model.model, model.options), settings);
      for (int j = 0; j < gridsPerModel; ++j)
        runOne(drawGrid(model), expected, settings);
    }
  }
  std::map<std::string, int64_t> counts;
  WorstErrors worst;

private:
  template <typename T> T oneOf(std::initializer_list<T> values) { return values.begin()[random() % values.size()]; }

  /// A grid with its own cut into virtual stages.
  Configuration drawGrid(const Configuration &model) {
    for (;;) {
      Configuration drawn = draw.grid(model);
      drawn.options.pp = oneOf<int64_t>({1, 2, 2, 3, 4, 8});
      if (drawn.ranks() > 16)
        continue;
      drawn.options.vpp = oneOf<int64_t>({1, 2, 3, 3});
      drawn.options.stages.assign(drawn.options.pp * drawn.options.vpp, 0);
      for (int64_t layer = 0; layer < model.model.layers; ++layer)
        ++drawn.options.stages[random() % drawn.options.stages.size()];
      return drawn;
    }
  }

  void runOne(const Configuration &drawn, const std::vector<Snapshot> &expected, const TrainingSettings &settings) {
    count(drawn);
    try {
      std::vector<Difference> differences = compare(train(compile(drawn), settings), expected, settings.learningRate);
      for (const Difference &difference : differences)
        EXPECT_LE(difference.error, tolerance) << difference.text() << "\n" << drawn.text();
      worst.note(differences, drawn.text());
    } catch (const std::exception &error) {
      ADD_FAILURE() << error.what() << "\n" << drawn.text();
    }
  }

  plan::Plan compile(const Configuration &drawn) {
    const CompileOptions &options = drawn.options;
    OwningOpRef<ModuleOp> module = compiler.importModel(drawn.model);
    compiler.runPhases(*module, options, "", options.zero > 0 && options.dp > 1 ? "zero" : "partitioned");
    std::string cut;
    for (int64_t layers : options.stages)
      cut += (cut.empty() ? "" : ",") + std::to_string(layers);
    bool isSplit = random() % 2;
    counts["weight_gradients"] += isSplit;
    counts["weight_gradients, canonical"] += isSplit && options.reduction == "canonical";
    std::string exchange = options.reduction == "canonical" ? "dist-exchange-nodes," : "";
    compiler.runPasses(*module, exchange + "dist-choose-stages{stages=" + cut + "},dist-split-stages" +
                                    (isSplit ? ",dist-split-weight-gradients" : ""));
    schedule(*module, options);
    if (options.overlap)
      compiler.runPasses(*module,
                         "dist-overlap-collectives{prefetch=" + std::to_string(options.collectivesAhead()) + "}");
    compiler.runPhases(*module, options, "pipelined", "plan");
    return compiler.emit(*module, options);
  }

  void schedule(ModuleOp module, const CompileOptions &options) {
    std::map<int64_t, BusyStage> busy; // in the order of their numbers
    module.walk([&](dist::SegmentOp segment) {
      if (segment.getKind() == dist::SegmentKind::Begin || segment.getKind() == dist::SegmentKind::Update)
        return;
      int64_t number = static_cast<int64_t>(segment.getChunk()) * options.pp + static_cast<int64_t>(segment.getStage());
      BusyStage &stage = busy[number];
      stage.virtualStage = number;
      stage.hasWeightGradients |= segment.getKind() == dist::SegmentKind::WeightGradient;
    });
    // The line shows that no stage need wait for room in a channel as deep as this.
    module.walk([&](dist::SendRecvOp transfer) { transfer.setDepth(options.microBatches); });
    std::vector<StageEntries> stages(options.pp, StageEntries(options.vpp));
    std::vector<BusyStage> inLine;
    for (const auto &[number, stage] : busy)
      inLine.push_back(stage);
    OrderDraw draw(random, inLine, options.microBatches, options.reduction == "canonical");
    for (const Work &work : draw.draw())
      stages[work.virtualStage % options.pp].add(work.kind, work.virtualStage / options.pp, work.microBatch,
                                                 work.kind == (busy.at(work.virtualStage).hasWeightGradients
                                                                   ? dist::SegmentKind::WeightGradient
                                                                   : dist::SegmentKind::Backward));
    auto builder = OpBuilder::atBlockEnd(module.getBody());
    for (auto [stage, entries] : llvm::enumerate(stages)) {
      SmallVector<StringRef> texts(entries.texts.begin(), entries.texts.end());
      dist::ScheduleOp::create(builder, module.getLoc(), stage, options.microBatches, ArrayRef<int64_t>(entries.slots),
                               builder.getStrArrayAttr({}), builder.getStrArrayAttr(texts),
                               builder.getStrArrayAttr({}));
    }
  }

  void count(const Configuration &drawn) {
    const CompileOptions &options = drawn.options;
    int64_t chunks = options.vpp;
    bool hasEmpty = llvm::is_contained(ArrayRef(options.stages).drop_front().drop_back(chunks * options.pp > 1), 0);
    ++counts["pp=" + std::to_string(options.pp)];
    ++counts["chunks=" + std::to_string(chunks)];
    counts["chunks of one stage"] += chunks > 1 && options.pp == 1;
    counts["empty virtual stages"] += hasEmpty;
    counts["chunks, tied"] += chunks > 1 && drawn.model.tiedEmbeddings;
    counts["chunks, tied on one stage"] += chunks > 1 && options.pp == 1 && drawn.model.tiedEmbeddings;
    counts["chunks, zero"] += chunks > 1 && options.zero > 0 && options.dp > 1;
    counts["chunks, zero=3"] += chunks > 1 && options.zero == 3 && options.dp > 1;
    counts["chunks, recompute"] += chunks > 1 && options.recompute != "none";
    counts["chunks, canonical"] += chunks > 1 && options.reduction == "canonical";
    counts["chunks, overlap"] += chunks > 1 && options.overlap;
    counts["chunks, sp"] += chunks > 1 && options.sequenceParallel;
    counts["chunks, dropout"] += chunks > 1 && drawn.model.dropout > 0;
    counts["chunks, dp and pp"] += chunks > 1 && options.dp > 1 && options.pp > 1;
    counts["chunks, several micro-batches"] += chunks > 1 && options.microBatches > 1;
  }

  InProcessCompiler compiler;
  ConfigurationDraw draw;
  std::mt19937_64 random;
};

} // namespace

TEST(ChunkOrder, EveryDrawEqualsOneRank) {
  ChunkOrders orders(3);
  orders.run(/*models=*/30, /*gridsPerModel=*/6);
  std::printf("180 orders\n%s", orders.worst.text().c_str());
  for (const auto &[feature, times] : orders.counts) {
    std::printf("%6lld with %s\n", static_cast<long long>(times), feature.c_str());
    EXPECT_GE(times, 2) << "the draws hardly meet: " << feature;
  }
}
