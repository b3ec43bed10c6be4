//===- ReshardPlanTest.cpp - every pair of layouts, on simulated devices ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the planned steps on a grid of 2 x 3 devices that hold integers, by what the
// collectives mean (concatenate, add, cut), and compares what each device ends with
// with what its layout says it holds. Integers, so equality is exact.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/ReshardPlan.h"
#include "mlir/IR/BuiltinOps.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace tgpt;
using dist::LayoutAttr;
using Axes = LayoutAttr::Axes;
using Tensor = std::vector<std::vector<int64_t>>;
using Kind = ReshardStep::Kind;

namespace {

constexpr int64_t rows = 12, columns = 18;

/// Devices of the mesh (a = 2, b = 3), row-major.
struct Grid {
  static constexpr int64_t count = 6;

  static int64_t size(llvm::StringRef axis) { return axis == "a" ? 2 : 3; }
  static int64_t size(const Axes &axes) {
    return std::accumulate(axes.begin(), axes.end(), int64_t(1),
                           [](int64_t n, llvm::StringRef axis) { return n * size(axis); });
  }
  static int64_t coordinate(int64_t device, llvm::StringRef axis) { return axis == "a" ? device / 3 : device % 3; }
  static int64_t indexAlong(int64_t device, const Axes &axes) {
    int64_t index = 0;
    for (llvm::StringRef axis : axes)
      index = index * size(axis) + coordinate(device, axis);
    return index;
  }
  /// The devices that differ from `device` along `axes` only, by their index.
  static std::vector<int64_t> group(int64_t device, const Axes &axes) {
    std::vector<int64_t> members(size(axes));
    for (int64_t other = 0; other < count; ++other) {
      bool isMember = true;
      for (llvm::StringRef axis : {"a", "b"})
        isMember = isMember && (llvm::is_contained(axes, axis) || coordinate(other, axis) == coordinate(device, axis));
      if (isMember)
        members[indexAlong(other, axes)] = other;
    }
    return members;
  }
};

Tensor piece(const Tensor &tensor, int64_t dim, int64_t index, int64_t count) {
  Tensor result;
  if (dim == 0) {
    int64_t size = tensor.size() / count;
    result.assign(tensor.begin() + index * size, tensor.begin() + (index + 1) * size);
    return result;
  }
  for (const auto &row : tensor) {
    int64_t size = row.size() / count;
    result.emplace_back(row.begin() + index * size, row.begin() + (index + 1) * size);
  }
  return result;
}

void append(Tensor &tensor, const Tensor &more, int64_t dim) {
  if (dim == 0 || tensor.empty()) {
    tensor.insert(tensor.end(), more.begin(), more.end());
    return;
  }
  for (size_t row = 0; row < tensor.size(); ++row)
    tensor[row].insert(tensor[row].end(), more[row].begin(), more[row].end());
}

Tensor sumOver(const std::vector<Tensor> &held, const std::vector<int64_t> &group) {
  Tensor sum = held[group[0]];
  for (size_t i = 1; i < group.size(); ++i)
    for (size_t row = 0; row < sum.size(); ++row)
      for (size_t column = 0; column < sum[row].size(); ++column)
        sum[row][column] += held[group[i]][row][column];
  return sum;
}

/// What `device` holds after `step`.
Tensor run(const ReshardStep &step, int64_t device, const std::vector<Tensor> &held) {
  std::vector<int64_t> group = Grid::group(device, step.axes);
  int64_t index = Grid::indexAlong(device, step.axes), count = group.size();
  Tensor result;
  switch (step.kind) {
  case Kind::AllReduce: return sumOver(held, group);
  case Kind::ReduceScatter: return piece(sumOver(held, group), step.dim, index, count);
  case Kind::Slice: return piece(held[device], step.dim, index, count);
  case Kind::AllGather:
    for (int64_t member : group)
      append(result, held[member], step.dim);
    return result;
  case Kind::AllToAll:
    for (int64_t member : group)
      append(result, piece(held[member], step.dim, index, count), step.concat);
    return result;
  }
  return result;
}

/// Elements that a device which holds `tensor` sends in `step`.
double sent(const ReshardStep &step, const Tensor &tensor) {
  double held = static_cast<double>(tensor.size() * tensor[0].size()), n = static_cast<double>(Grid::size(step.axes));
  switch (step.kind) {
  case Kind::AllReduce: return 2 * held * (n - 1) / n;
  case Kind::ReduceScatter:
  case Kind::AllToAll: return held * (n - 1) / n;
  case Kind::AllGather: return held * (n - 1);
  case Kind::Slice: return 0;
  }
  return 0;
}

class ReshardPlanTest : public testing::Test {
protected:
  ReshardPlanTest() {
    context.loadDialect<dist::DistDialect>();
    module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
    mlir::OpBuilder builder(module->getBodyRegion());
    mesh = dist::MeshOp::create(builder, builder.getUnknownLoc(), "mesh", builder.getStrArrayAttr({"a", "b"}), {2, 3});
  }

  LayoutAttr layout(Axes first, Axes second, Axes partial) {
    LayoutAttr made = LayoutAttr::get(&context, {first, second}, partial);
    return made.withGlobal(mlir::DenseI64ArrayAttr::get(&context, {rows, columns}));
  }

  /// Each axis shards dim 0 or 1, is partial or replicated; two in one dim in both orders.
  std::vector<LayoutAttr> allLayouts() {
    std::vector<LayoutAttr> layouts;
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 4; ++b)
        for (bool isReversed : {false, true}) {
          Axes places[4];
          places[a].push_back("a");
          places[b].insert(isReversed ? places[b].begin() : places[b].end(), "b");
          if (!isReversed || (a == b && a < 2))
            layouts.push_back(layout(places[0], places[1], places[2]));
        }
    return layouts;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  dist::MeshOp mesh;
};

Tensor globalTensor() {
  Tensor tensor(rows, std::vector<int64_t>(columns));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      tensor[row][column] = 100 * row + column;
  return tensor;
}

/// The true values of what `device` holds.
Tensor shard(LayoutAttr layout, int64_t device) {
  Tensor result = globalTensor();
  for (int64_t dim : {0, 1}) {
    Axes axes = layout.axesOf(dim);
    result = piece(result, dim, Grid::indexAlong(device, axes), Grid::size(axes));
  }
  return result;
}

/// What `device` holds: an addend that depends on its index along the partial axes.
Tensor held(LayoutAttr layout, int64_t device) {
  Tensor result = shard(layout, device);
  Axes partial = layout.partialAxes();
  int64_t index = Grid::indexAlong(device, partial), count = Grid::size(partial);
  auto noise = [](int64_t i, int64_t value) { return (i * 7919 + value * 31) % 1009; };
  for (auto &row : result)
    for (int64_t &value : row) {
      int64_t others = 0;
      for (int64_t i = 1; i < count; ++i)
        others += noise(i, value);
      value = index == 0 ? value - others : noise(index, value);
    }
  return result;
}

bool isSubset(const Axes &some, const Axes &all) {
  return llvm::all_of(some, [&](llvm::StringRef axis) { return llvm::is_contained(all, axis); });
}

std::string text(LayoutAttr source, LayoutAttr target) {
  std::string result;
  llvm::raw_string_ostream(result) << source << " to " << target;
  return result;
}

TEST_F(ReshardPlanTest, EveryDeviceEndsWithItsShard) {
  int64_t pairs = 0;
  for (LayoutAttr source : allLayouts())
    for (LayoutAttr target : allLayouts()) {
      if (!isSubset(target.partialAxes(), source.partialAxes()))
        continue;
      SCOPED_TRACE(text(source, target));
      auto plan = planReshard(source, target, mesh);
      ASSERT_TRUE(llvm::succeeded(plan));
      std::vector<Tensor> now(Grid::count), next(Grid::count);
      for (int64_t device = 0; device < Grid::count; ++device)
        now[device] = held(source, device);
      for (const ReshardStep &step : *plan) {
        for (int64_t device = 0; device < Grid::count; ++device)
          next[device] = run(step, device, now);
        now = next;
      }
      for (int64_t device = 0; device < Grid::count; ++device)
        ASSERT_EQ(sumOver(now, Grid::group(device, target.partialAxes())), shard(target, device))
            << "device " << device;
      ++pairs;
    }
  // 11 layouts without partial axes, 3 partial over a, 3 over b, 1 over both.
  EXPECT_EQ(pairs, 11 * 11 + 3 * (11 + 3) + 3 * (11 + 3) + 1 * 18);
}

TEST_F(ReshardPlanTest, NeverSendsMoreThanReduceGatherAndSlice) {
  for (LayoutAttr source : allLayouts())
    for (LayoutAttr target : allLayouts()) {
      if (!isSubset(target.partialAxes(), source.partialAxes()))
        continue;
      SCOPED_TRACE(text(source, target));
      auto plan = planReshard(source, target, mesh);
      ASSERT_TRUE(llvm::succeeded(plan));
      double planned = 0, plain = 0;
      std::vector<Tensor> now(Grid::count), next(Grid::count);
      for (int64_t device = 0; device < Grid::count; ++device)
        now[device] = held(source, device);
      Tensor start = now[0];
      for (const ReshardStep &step : *plan) {
        planned += sent(step, now[0]);
        for (int64_t device = 0; device < Grid::count; ++device)
          next[device] = run(step, device, now);
        now = next;
      }
      Axes reduced;
      for (llvm::StringRef axis : source.partialAxes())
        if (!target.isPartialOver(axis))
          reduced.push_back(axis);
      if (!reduced.empty())
        plain += sent({Kind::AllReduce, reduced, 0, 0, target}, start);
      double size = static_cast<double>(start.size() * start[0].size());
      for (int64_t dim : {0, 1})
        if (source.axesOf(dim) != target.axesOf(dim)) {
          double n = static_cast<double>(Grid::size(source.axesOf(dim)));
          plain += size * (n - 1);
          size *= n;
        }
      EXPECT_LE(planned, plain * (1 + 1e-12)); // rounding of a few additions
    }
}

TEST_F(ReshardPlanTest, LayoutsThatAgreeNeedNothing) {
  for (LayoutAttr same : allLayouts()) {
    auto plan = planReshard(same, same, mesh);
    ASSERT_TRUE(llvm::succeeded(plan));
    EXPECT_TRUE(plan->empty());
  }
}

TEST_F(ReshardPlanTest, NoWayToBecomePartial) {
  EXPECT_TRUE(llvm::failed(planReshard(layout({}, {}, {}), layout({}, {}, {"a"}), mesh)));
}

} // namespace
