//===- PlanLayout.cpp - how a value is spread over ranks ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/PlanLayout.h"

#include <algorithm>
#include <vector>

using namespace tgpt;
using namespace tgpt::runtime;

using Axes = google::protobuf::RepeatedPtrField<std::string>;

template <typename T> static std::string joined(const T &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string tgpt::runtime::layoutText(const plan::Layout &layout) {
  std::vector<std::string> dims;
  for (const plan::DimSharding &dim : layout.dims())
    dims.push_back(dim.axes().empty() ? "-" : dim.axes_size() == 1 ? dim.axes(0) : "{" + joined(dim.axes()) + "}");
  std::string text = "[" + joined(dims) + "]";
  if (layout.partial_axes_size() > 0)
    text += " partial " + layout.reduction() + " over " + joined(layout.partial_axes());
  return text;
}

static bool sameAxes(const Axes &a, const Axes &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool tgpt::runtime::samePartial(const plan::Layout &a, const plan::Layout &b) {
  return a.reduction() == b.reduction() && sameAxes(a.partial_axes(), b.partial_axes());
}

bool tgpt::runtime::sameLayout(const plan::Layout &a, const plan::Layout &b) {
  return samePartial(a, b) && std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(), b.dims().end(),
                                         [](const auto &x, const auto &y) { return sameAxes(x.axes(), y.axes()); });
}

namespace {

/// Follows a layout through a collective.
class CollectiveRule {
public:
  CollectiveRule(const plan::Instruction &instruction, const Axes &group, const plan::Layout &input)
      : instruction(instruction), group(group), input(input), result(input) {}

  CollectiveLayout follow() {
    switch (instruction.kind()) {
    case plan::Instruction::ALL_REDUCE: reduce(instruction.opcode() == "max" ? "max" : "sum"); break;
    case plan::Instruction::ALL_GATHER: gather(instruction.dim()); break;
    case plan::Instruction::REDUCE_SCATTER:
      reduce("sum");
      scatter(instruction.dim());
      break;
    default: gather(instruction.dim2()); scatter(instruction.dim());
    }
    return {result, problem};
  }

private:
  bool isOfGroup(const std::string &axis) const { return std::find(group.begin(), group.end(), axis) != group.end(); }

  /// The ranks of a stage hold nothing partial over "pp": what the stages add up there is
  /// known by its number.
  void reduce(const std::string &by) {
    bool isOnStage = false;
    for (const std::string &axis : group) {
      isOnStage |= axis != "pp";
      if (axis != "pp" &&
          std::find(input.partial_axes().begin(), input.partial_axes().end(), axis) == input.partial_axes().end())
        problem = "reduces over " + axis + " what is " + layoutText(input);
    }
    if (isOnStage && input.reduction() != by)
      problem = "reduces by '" + by + "' what is " + layoutText(input);
    result.clear_partial_axes();
    for (const std::string &axis : input.partial_axes())
      if (!isOfGroup(axis))
        result.add_partial_axes(axis);
    if (result.partial_axes().empty())
      result.clear_reduction();
  }
  void gather(int64_t dim) {
    Axes &axes = *result.mutable_dims(static_cast<int>(dim))->mutable_axes();
    int rest = axes.size() - group.size();
    if (rest < 0 || !std::equal(group.begin(), group.end(), axes.begin() + rest))
      problem =
          "gathers over " + joined(group) + " dimension " + std::to_string(dim) + " of what is " + layoutText(input);
    else
      axes.DeleteSubrange(rest, group.size());
  }
  void scatter(int64_t dim) {
    for (const std::string &axis : group)
      result.mutable_dims(static_cast<int>(dim))->add_axes(axis);
  }

  const plan::Instruction &instruction;
  const Axes &group;
  const plan::Layout &input;
  plan::Layout result;
  std::string problem;
};

} // namespace

CollectiveLayout tgpt::runtime::layoutAfter(const plan::Instruction &collective, const Axes &group,
                                            const plan::Layout &input) {
  return CollectiveRule(collective, group, input).follow();
}
