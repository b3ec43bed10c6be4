//===- CheckMemory.cpp - regions, buffers and variables ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After these checks every buffer lies within its region and the region within
// the arena, for every slot, and no arithmetic on them overflows. Regions share no byte,
// but for the pages of several chunks, which are the same, and what lies over others by design.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/LogicalVariable.h"
#include "runtime/plan/PlanProblems.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

using namespace tgpt;
using namespace tgpt::runtime;

/// TensorView::maxRank; restated because the plan library does not know kernels.
static constexpr int mostDimensions = 6;

namespace {

/// The checks of one stage.
class StageMemory {
public:
  StageMemory(const plan::StageProgram &stage, const RankGrid &grid, PlanProblems &problems)
      : stage(stage), grid(grid), problems(problems), place("stage " + std::to_string(stage.stage())) {}

  void check() {
    checkRegions();
    if (problems.any())
      return;
    for (int i = 0; i < stage.buffers_size(); ++i)
      checkBuffer(i);
    if (problems.any())
      return;
    for (const plan::Variable &variable : stage.variables())
      checkVariable(variable);
    if (!problems.any())
      checkFlatApart();
    if (!problems.any())
      checkVariablesApart();
  }

private:
  void checkRegions();
  void checkRegion(int index);
  void checkSamePages(int first, int index);
  int64_t checkStep(int index);
  void checkBuffer(int index);
  void checkVariable(const plan::Variable &variable);
  void checkVariableRegion(const plan::Variable &variable, const std::string &where);
  void checkLocalShape(const plan::Variable &variable, const std::string &where);
  void checkFlatShape(const plan::Variable &variable, const std::string &where);
  void checkAxes(const plan::Variable &variable, const std::string &where);
  void checkFlatApart();
  void checkWindow(const plan::Variable &variable, const std::string &where);
  void checkInitializer(const plan::Variable &variable, const std::string &where);
  void checkVariablesApart();

  const plan::StageProgram &stage;
  const RankGrid &grid;
  PlanProblems &problems;
  std::string place;
};

} // namespace

static std::string regionText(const plan::StageProgram &stage, int index) {
  return "region " + std::to_string(index) + " (" + plan::Region::Kind_Name(stage.regions(index).kind()) + ")";
}

void StageMemory::checkRegion(int index) {
  const plan::Region &region = stage.regions(index);
  std::string where = place + ", " + regionText(stage, index);
  if (region.kind() <= plan::Region::KIND_UNSPECIFIED || region.kind() > plan::Region::STEP)
    return problems.add(place + ", region " + std::to_string(index) + " has the unknown kind " +
                        std::to_string(static_cast<int>(region.kind())));
  if (region.offset_bytes() < 0 || region.slot_bytes() < 0 || region.slots() < 1)
    return problems.add(where + " has offset " + std::to_string(region.offset_bytes()) + ", slot size " +
                        std::to_string(region.slot_bytes()) + " and " + std::to_string(region.slots()) + " slots");
  if (region.slots() > 1 && !isOfMicroBatch(region.kind()))
    problems.add(where + " has " + std::to_string(region.slots()) +
                 " slots, but only ACTIVATIONS and PAGES may have more than one");
  if (region.chunk() < 0)
    problems.add(where + " is of chunk " + std::to_string(region.chunk()) + ", the first chunk is 0");
  if (region.chunk() > 0 && !isOfMicroBatch(region.kind()))
    problems.add(where + " is of chunk " + std::to_string(region.chunk()) +
                 ", but only ACTIVATIONS and PAGES are of a chunk");
  if (region.offset_bytes() % regionGrainBytes != 0 || region.slot_bytes() % regionGrainBytes != 0)
    problems.add(where + " has offset " + std::to_string(region.offset_bytes()) + " and slot size " +
                 std::to_string(region.slot_bytes()) + ", both must be multiples of " +
                 std::to_string(regionGrainBytes) + " bytes");
  if (region.peak_live_bytes() < 0 || region.peak_live_bytes() > region.slot_bytes())
    problems.add(where + " has " + std::to_string(region.peak_live_bytes()) + " peak live bytes in slots of " +
                 std::to_string(region.slot_bytes()));
  int64_t end;
  if (__builtin_mul_overflow(region.slot_bytes(), region.slots(), &end) ||
      __builtin_add_overflow(end, region.offset_bytes(), &end) || end > stage.arena_bytes())
    problems.add(where + " at offset " + std::to_string(region.offset_bytes()) + " with " +
                 std::to_string(region.slots()) + " slots of " + std::to_string(region.slot_bytes()) +
                 " bytes ends beyond the arena of " + std::to_string(stage.arena_bytes()) + " bytes");
}

/// The pages of all chunks are the same bytes.
void StageMemory::checkSamePages(int first, int index) {
  const plan::Region &one = stage.regions(first), &other = stage.regions(index);
  if (one.offset_bytes() != other.offset_bytes() || one.slot_bytes() != other.slot_bytes() ||
      one.slots() != other.slots())
    problems.add(place + ", " + regionText(stage, index) + " has " + std::to_string(other.slots()) + " pages of " +
                 std::to_string(other.slot_bytes()) + " bytes at " + std::to_string(other.offset_bytes()) +
                 ", but those of chunk " + std::to_string(one.chunk()) + " are " + std::to_string(one.slots()) +
                 " of " + std::to_string(one.slot_bytes()) + " at " + std::to_string(one.offset_bytes()));
}

/// Nothing that is held between the segments of a micro-batch's turn, and beyond it, lies under STEP. Its end.
int64_t StageMemory::checkStep(int index) {
  const plan::Region &step = stage.regions(index);
  int64_t begin = step.offset_bytes(), end = begin + step.slot_bytes();
  for (int i = 0; i < stage.regions_size(); ++i) {
    const plan::Region &region = stage.regions(i);
    int64_t bytes = region.slots() * region.slot_bytes();
    if (!isEmptyBetweenSteps(region.kind()) && bytes > 0 && begin < end && region.offset_bytes() < end &&
        begin < region.offset_bytes() + bytes)
      problems.add(place + ", " + regionText(stage, index) + " from " + std::to_string(begin) + " to " +
                   std::to_string(end) + " lies over " + regionText(stage, i) + " at " +
                   std::to_string(region.offset_bytes()));
  }
  return end;
}

void StageMemory::checkRegions() {
  if (stage.arena_bytes() < 0)
    return problems.add(place + " has an arena of " + std::to_string(stage.arena_bytes()) + " bytes");
  std::set<std::pair<plan::Region::Kind, int64_t>> chunks;
  for (int i = 0; i < stage.regions_size(); ++i) {
    checkRegion(i);
    const plan::Region &region = stage.regions(i);
    if ((isOfMicroBatch(region.kind()) || region.kind() == plan::Region::STEP) &&
        !chunks.emplace(region.kind(), region.chunk()).second)
      problems.add(place + ", " + regionText(stage, i) + " is a second one of chunk " + std::to_string(region.chunk()));
  }
  if (problems.any())
    return;
  std::vector<int> order(stage.regions_size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return stage.regions(a).offset_bytes() < stage.regions(b).offset_bytes(); });
  int64_t end = 0;
  int last = -1, step = -1, pages = -1;
  for (int i : order) {
    const plan::Region &region = stage.regions(i);
    int64_t bytes = region.slots() * region.slot_bytes();
    if (region.kind() == plan::Region::STEP)
      step = i;
    if (region.kind() == plan::Region::PAGES && pages >= 0) {
      checkSamePages(pages, i);
      continue;
    }
    if (region.kind() == plan::Region::PAGES)
      pages = i;
    if (bytes == 0 || region.kind() == plan::Region::STEP)
      continue;
    if (region.offset_bytes() < end)
      problems.add(place + ", " + regionText(stage, i) + " starts at " + std::to_string(region.offset_bytes()) +
                   ", within " + regionText(stage, last) + ", which ends at " + std::to_string(end));
    end = std::max(end, region.offset_bytes() + bytes);
    last = i;
  }
  if (step >= 0)
    end = std::max(end, checkStep(step));
  if (end != stage.arena_bytes())
    problems.add(place + " has an arena of " + std::to_string(stage.arena_bytes()) + " bytes, but its regions end at " +
                 std::to_string(end));
}

void StageMemory::checkBuffer(int index) {
  const plan::Buffer &buffer = stage.buffers(index);
  std::string where = place + ", buffer " + std::to_string(index) + " '" + buffer.name() + "'";
  if (elementBytes(buffer.dtype()) == 0)
    return problems.add(where + " has the unknown " + dtypeText(buffer.dtype()));
  if (buffer.shape_size() > mostDimensions)
    return problems.add(where + " has " + std::to_string(buffer.shape_size()) + " dimensions, at most " +
                        std::to_string(mostDimensions) + " are possible");
  std::optional<int64_t> bytes = tensorBytes(buffer.dtype(), buffer.shape());
  if (!bytes)
    return problems.add(where + " has the impossible shape " + tensorText(buffer));
  if (buffer.region() >= static_cast<uint32_t>(stage.regions_size()))
    return problems.add(where + " lies in region " + std::to_string(buffer.region()) + ", but the stage has " +
                        std::to_string(stage.regions_size()) + " regions");
  int64_t slotBytes = stage.regions(buffer.region()).slot_bytes();
  if (buffer.offset_bytes() < 0 || buffer.offset_bytes() > slotBytes || *bytes > slotBytes - buffer.offset_bytes())
    return problems.add(where + " at offset " + std::to_string(buffer.offset_bytes()) + " with " +
                        std::to_string(*bytes) + " bytes ends beyond " + regionText(stage, buffer.region()) + " of " +
                        std::to_string(slotBytes) + " bytes");
  if (buffer.offset_bytes() % elementBytes(buffer.dtype()) != 0)
    problems.add(where + " is at offset " + std::to_string(buffer.offset_bytes()) +
                 ", which is not a multiple of its element size " + std::to_string(elementBytes(buffer.dtype())));
}

/// Elements of the shard that a variable's `dims` give.
static int64_t shardElements(const plan::Variable &variable, const RankGrid &grid) {
  int64_t elements = 1;
  for (int i = 0; i < variable.dims_size(); ++i)
    elements *= variable.global_shape(i) / grid.sizeOf(variable.dims(i).axes());
  return elements;
}

static bool isPersistent(plan::Region::Kind kind) {
  return kind == plan::Region::PARAMETERS || kind == plan::Region::GRADIENTS || kind == plan::Region::OPTIMIZER;
}

void StageMemory::checkVariableRegion(const plan::Variable &variable, const std::string &where) {
  plan::Region::Kind kind = stage.regions(stage.buffers(variable.buffer()).region()).kind();
  auto mustBe = [&](plan::Region::Kind expected) {
    if (kind != expected)
      problems.add(where + ", a " + plan::Variable::Role_Name(variable.role()) + ", lies in a region of kind " +
                   plan::Region::Kind_Name(kind) + ", it belongs in " + plan::Region::Kind_Name(expected));
  };
  switch (variable.role()) {
  case plan::Variable::PARAMETER: return mustBe(plan::Region::PARAMETERS);
  case plan::Variable::MASTER:
  case plan::Variable::MOMENT1:
  case plan::Variable::MOMENT2:
  case plan::Variable::SCALING: return mustBe(plan::Region::OPTIMIZER);
  case plan::Variable::GRADIENT: return mustBe(plan::Region::GRADIENTS);
  case plan::Variable::METRIC:
    if (!isPersistent(kind))
      problems.add(where + " lies in a region of kind " + plan::Region::Kind_Name(kind) +
                   ", whose contents do not outlive a segment");
    return;
  default: problems.add(where + " has the unknown role " + std::to_string(static_cast<int>(variable.role())));
  }
}

void StageMemory::checkLocalShape(const plan::Variable &variable, const std::string &where) {
  const plan::Buffer &buffer = stage.buffers(variable.buffer());
  if (variable.has_flat())
    return checkFlatShape(variable, where);
  if (variable.global_shape_size() != buffer.shape_size() || variable.dims_size() != buffer.shape_size())
    return problems.add(where + " has " + std::to_string(variable.global_shape_size()) + " global dimensions and " +
                        std::to_string(variable.dims_size()) + " shardings, but its buffer has " +
                        std::to_string(buffer.shape_size()) + " dimensions");
  checkAxes(variable, where);
  if (problems.any())
    return;
  for (int i = 0; i < buffer.shape_size(); ++i) {
    int64_t parts = grid.sizeOf(variable.dims(i).axes());
    int64_t global = variable.global_shape(i);
    if (global < 1 || global % parts != 0 || global / parts != buffer.shape(i))
      problems.add(where + ": global dimension " + std::to_string(i) + " is " + std::to_string(global) + " over " +
                   std::to_string(parts) + " ranks, but the buffer holds " + std::to_string(buffer.shape(i)));
  }
  if (!tensorBytes(buffer.dtype(), variable.global_shape()))
    problems.add(where + " has a global shape whose bytes overflow");
}

/// Each axis spreads the variable once, in one way.
void StageMemory::checkAxes(const plan::Variable &variable, const std::string &where) {
  std::set<std::string> used;
  auto useAxes = [&](const auto &axes) {
    for (const std::string &axis : axes)
      if (axis == "pp" || !isMeshAxisName(axis))
        problems.add(where + " is spread over axis '" + axis +
                     "', only 'dp_replica', 'dp', 'tp' and 'tp_inner' are possible");
      else if (!used.insert(axis).second)
        problems.add(where + " uses axis '" + axis + "' twice");
  };
  for (const plan::DimSharding &dim : variable.dims())
    useAxes(dim.axes());
  useAxes(variable.partial_axes());
  useAxes(variable.flat().axes());
}

/// The shard ends within the flat tensor of which the buffer is a piece.
void StageMemory::checkFlatShape(const plan::Variable &variable, const std::string &where) {
  const plan::Buffer &buffer = stage.buffers(variable.buffer());
  if (variable.global_shape_size() != variable.dims_size() || variable.dims_size() > mostDimensions)
    return problems.add(where + " has " + std::to_string(variable.global_shape_size()) + " global dimensions and " +
                        std::to_string(variable.dims_size()) + " shardings, expected equally many and at most " +
                        std::to_string(mostDimensions));
  checkAxes(variable, where);
  if (!tensorBytes(buffer.dtype(), variable.global_shape()))
    problems.add(where + " has a global shape that is empty or whose bytes overflow");
  if (problems.any())
    return;
  for (int i = 0; i < variable.dims_size(); ++i)
    if (int64_t parts = grid.sizeOf(variable.dims(i).axes()); variable.global_shape(i) % parts != 0)
      return problems.add(where + ": global dimension " + std::to_string(i) + " is " +
                          std::to_string(variable.global_shape(i)) + " over " + std::to_string(parts) + " ranks");
  int64_t whole, begin = variable.flat().first_element(), elements = shardElements(variable, grid);
  if (__builtin_mul_overflow(tensorBytes(buffer.dtype(), buffer.shape()).value_or(0) / elementBytes(buffer.dtype()),
                             grid.sizeOf(variable.flat().axes()), &whole) ||
      begin < 0 || begin > whole || elements > whole - begin)
    problems.add(where + " has " + std::to_string(elements) + " elements from " + std::to_string(begin) +
                 " on in a flat tensor of " + std::to_string(whole));
}

/// A window has the variable's dimensions and begins inside of its tensor.
void StageMemory::checkWindow(const plan::Variable &variable, const std::string &where) {
  const plan::Window &window = variable.window();
  if (window.name().empty() || window.parameter().empty())
    problems.add(where + " is a window on a tensor without a name or parameter");
  if (window.shape_size() != variable.global_shape_size() || window.at_size() != variable.global_shape_size())
    return problems.add(where + " is a window of " + std::to_string(window.shape_size()) + " sizes at " +
                        std::to_string(window.at_size()) + " places, but has " +
                        std::to_string(variable.global_shape_size()) + " dimensions");
  for (int i = 0; i < window.shape_size(); ++i)
    if (window.at(i) < 0 || window.at(i) >= window.shape(i))
      problems.add(where + " is a window that begins at " + std::to_string(window.at(i)) + " of dimension " +
                   std::to_string(i) + " of " + std::to_string(window.shape(i)));
  if (!tensorBytes(stage.buffers(static_cast<int>(variable.buffer())).dtype(), window.shape()))
    problems.add(where + " is a window on a tensor whose bytes overflow");
}

void StageMemory::checkInitializer(const plan::Variable &variable, const std::string &where) {
  const plan::Initializer &initializer = variable.initializer();
  if (initializer.kind() != plan::Initializer::CONSTANT && initializer.kind() != plan::Initializer::NORMAL)
    return problems.add(where + " has no initializer");
  if (!std::isfinite(initializer.value()))
    problems.add(where + " starts from a value that is not finite");
  if (initializer.kind() != plan::Initializer::NORMAL)
    return;
  if (!std::isfinite(initializer.stddev()) || initializer.stddev() < 0)
    problems.add(where + " has the standard deviation " + std::to_string(initializer.stddev()));
  if (initializer.key().empty())
    problems.add(where + " starts from random values, but names no key");
  if (stage.buffers(variable.buffer()).dtype() == plan::I32)
    problems.add(where + " starts from random values, but is i32");
}

void StageMemory::checkVariable(const plan::Variable &variable) {
  std::string where = place + ", variable '" + variable.name() + "'";
  if (variable.name().empty())
    return problems.add(place + " has a variable without a name");
  if (variable.buffer() >= static_cast<uint32_t>(stage.buffers_size()))
    return problems.add(where + " lies in buffer " + std::to_string(variable.buffer()) + ", but the stage has " +
                        std::to_string(stage.buffers_size()) + " buffers");
  checkVariableRegion(variable, where);
  checkLocalShape(variable, where);
  if (variable.has_window())
    checkWindow(variable, where);
  checkInitializer(variable, where);
}

/// Variables of one flat tensor have different elements of it, cut over the same axes.
void StageMemory::checkFlatApart() {
  std::map<uint32_t, std::vector<const plan::Variable *>> byBuffer;
  for (const plan::Variable &variable : stage.variables())
    byBuffer[variable.buffer()].push_back(&variable);
  for (auto &[buffer, variables] : byBuffer) {
    std::sort(variables.begin(), variables.end(),
              [](const auto *a, const auto *b) { return a->flat().first_element() < b->flat().first_element(); });
    for (size_t i = 1; i < variables.size(); ++i) {
      const plan::Variable &before = *variables[i - 1], &variable = *variables[i];
      if (!before.has_flat() || !variable.has_flat())
        continue; // no flat tensor: checkVariablesApart
      std::string where = place + ", variables '" + before.name() + "' and '" + variable.name() + "' ";
      if (!std::equal(before.flat().axes().begin(), before.flat().axes().end(), variable.flat().axes().begin(),
                      variable.flat().axes().end()))
        problems.add(where + "share buffer '" + stage.buffers(buffer).name() + "', but are cut over different axes");
      else if (before.flat().first_element() + shardElements(before, grid) > variable.flat().first_element())
        problems.add(where + "overlap in the flat tensor of buffer '" + stage.buffers(buffer).name() + "'");
    }
  }
}

void StageMemory::checkVariablesApart() {
  std::set<std::string> names;
  std::vector<std::pair<Extent, const plan::Variable *>> extents;
  for (const plan::Variable &variable : stage.variables()) {
    if (!names.insert(variable.name()).second)
      problems.add(place + " has two variables named '" + variable.name() + "'");
    extents.emplace_back(extentOf(stage.buffers(variable.buffer())), &variable);
  }
  std::sort(extents.begin(), extents.end(), [](const auto &a, const auto &b) {
    return std::pair(a.first.region, a.first.begin) < std::pair(b.first.region, b.first.begin);
  });
  auto shareFlat = [](const plan::Variable &a, const plan::Variable &b) {
    return a.has_flat() && b.has_flat() && a.buffer() == b.buffer();
  };
  for (size_t i = 1; i < extents.size(); ++i)
    if (extents[i - 1].first.overlaps(extents[i].first) && !shareFlat(*extents[i - 1].second, *extents[i].second))
      problems.add(place + ", variables '" + extents[i - 1].second->name() + "' and '" + extents[i].second->name() +
                   "' overlap in " + regionText(stage, extents[i].first.region));
}

/// Copies of one variable in several stages agree, and exactly one is the owner's.
static void checkCopies(const plan::Plan &plan, PlanProblems &problems) {
  struct Copies {
    const plan::Variable *first;
    const plan::Buffer *buffer;
    int64_t stage;
    int owners = 0;
  };
  std::map<std::string, Copies> byName;
  for (const plan::StageProgram &stage : plan.stages())
    for (const plan::Variable &variable : stage.variables()) {
      const plan::Buffer &buffer = stage.buffers(variable.buffer());
      Copies &copies = byName.try_emplace(variable.name(), Copies{&variable, &buffer, stage.stage()}).first->second;
      copies.owners += variable.owner();
      bool same = copies.first->role() == variable.role() && copies.buffer->dtype() == buffer.dtype() &&
                  std::equal(variable.global_shape().begin(), variable.global_shape().end(),
                             copies.first->global_shape().begin(), copies.first->global_shape().end()) &&
                  copies.first->window().SerializeAsString() == variable.window().SerializeAsString() &&
                  copies.first->initializer().SerializeAsString() == variable.initializer().SerializeAsString();
      if (!same)
        problems.add("variable '" + variable.name() + "' differs between stage " + std::to_string(copies.stage) +
                     " and stage " + std::to_string(stage.stage()) +
                     " in role, dtype, global shape, window or initializer");
    }
  for (const auto &[name, copies] : byName)
    if (copies.owners != 1 && copies.first->role() != plan::Variable::METRIC)
      problems.add("variable '" + name + "' has " + std::to_string(copies.owners) +
                   " owner stages, it must have exactly one");
}

/// Elements that two windows on one tensor both have; also those of one, with itself.
static int64_t commonElements(const plan::Variable &a, const plan::Variable &b) {
  int64_t elements = 1;
  for (int i = 0; i < a.global_shape_size(); ++i) {
    int64_t begin = std::max(windowStart(a, i), windowStart(b, i)), end = std::min(windowEnd(a, i), windowEnd(b, i));
    elements *= std::max<int64_t>(end - begin, 0);
  }
  return elements;
}

/// The windows on one tensor agree about it and have each of its elements once.
static void checkWindows(const plan::Plan &plan, PlanProblems &problems) {
  struct Part {
    const plan::Variable *variable;
    plan::DType dtype;
  };
  std::map<std::string, std::vector<Part>> byTensor;
  std::set<std::string> seen;
  for (const plan::StageProgram &stage : plan.stages())
    for (const plan::Variable &variable : stage.variables())
      if (seen.insert(variable.name()).second)
        byTensor[logicalName(variable)].push_back({&variable, stage.buffers(variable.buffer()).dtype()});
  for (const auto &[name, parts] : byTensor) {
    plan::Variable whole = logicalVariable(*parts.front().variable);
    int64_t elements = 1, covered = 0;
    for (int64_t size : whole.global_shape())
      elements *= size;
    for (size_t i = 0; i < parts.size() && !problems.full(); ++i) {
      const plan::Variable &part = *parts[i].variable;
      plan::Variable ownWhole = logicalVariable(part);
      if (ownWhole.role() != whole.role() || ownWhole.parameter() != whole.parameter() ||
          parts[i].dtype != parts.front().dtype ||
          !std::equal(ownWhole.global_shape().begin(), ownWhole.global_shape().end(), whole.global_shape().begin(),
                      whole.global_shape().end())) {
        problems.add("variables '" + parts.front().variable->name() + "' and '" + part.name() + "' are windows on '" +
                     name + "', but differ in its shape, dtype, role or parameter");
        return;
      }
      covered += commonElements(part, part);
      for (size_t j = 0; j < i; ++j)
        if (commonElements(*parts[j].variable, part) > 0)
          problems.add("variables '" + parts[j].variable->name() + "' and '" + part.name() +
                       "' both have elements of '" + name + "'");
    }
    if (covered < elements)
      problems.add("the variables that are windows on '" + name + "' have " + std::to_string(covered) + " of its " +
                   std::to_string(elements) + " elements");
  }
}

void tgpt::runtime::checkMemory(const plan::Plan &plan, const RankGrid &grid, PlanProblems &problems) {
  for (const plan::StageProgram &stage : plan.stages())
    StageMemory(stage, grid, problems).check();
  if (!problems.any())
    checkCopies(plan, problems);
  if (!problems.any())
    checkWindows(plan, problems);
}
