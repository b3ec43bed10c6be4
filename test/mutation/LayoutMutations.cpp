//===- test/mutation/LayoutMutations.cpp - false claims about where a value lives -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/mutation/LayoutMutations.h"

using namespace mlir;
using namespace tgpt;
using dist::LayoutAttr;
using dist::ReductionKind;
using Axes = LayoutAttr::Axes;

namespace {

class FalseTypes {
public:
  FalseTypes(RankedTensorType type, dist::MeshOp mesh) : type(type), layout(dist::layoutOf(type)), mesh(mesh) {}

  std::vector<FalseType> run() {
    falsePartials();
    falseAxes();
    for (int64_t dim = 0; dim < layout.getRank(); ++dim)
      falseDim(dim);
    return std::move(types);
  }

private:
  /// Claims the layout, of the global shape that it gives to the local one.
  void claim(const char *mutation, LayoutAttr claimed) {
    SmallVector<int64_t> global(type.getShape());
    for (int64_t dim = 0; dim < claimed.getRank(); ++dim)
      global[dim] *= mesh.sizeOf(claimed.axesOf(dim));
    claimed = claimed.withGlobal(DenseI64ArrayAttr::get(type.getContext(), global));
    if (claimed != layout)
      types.push_back({mutation, dist::withLayout(type, claimed)});
  }

  void falsePartials() {
    Axes partial = layout.partialAxes();
    for (StringRef axis : partial) {
      Axes rest = partial;
      llvm::erase(rest, axis);
      claim("type: drop a partial axis", layout.withPartial(rest, layout.getReduction()));
    }
    for (StringRef axis : mesh.getAxes().getAsValueRange<StringAttr>())
      if (axis != "pp" && layout.dimOf(axis) < 0 && !layout.isPartialOver(axis)) {
        Axes more = partial;
        more.push_back(axis);
        claim("type: add a partial axis", layout.withPartial(more, layout.getReduction()));
      }
    if (layout.isPartial()) {
      bool isSum = layout.getReduction() == ReductionKind::Sum;
      claim("type: sum for maximum", layout.withPartial(partial, isSum ? ReductionKind::Max : ReductionKind::Sum));
    }
  }

  static Axes swapped(Axes axes, StringRef other) {
    for (StringRef &axis : axes)
      axis = axis == other ? "tp" : axis == "tp" ? other : axis;
    return axes;
  }

  void falseAxes() {
    for (StringRef other : {"dp", "tp_inner"}) {
      if (!mesh.hasAxis(other))
        continue;
      SmallVector<Axes> dims;
      for (int64_t dim = 0; dim < layout.getRank(); ++dim)
        dims.push_back(swapped(layout.axesOf(dim), other));
      claim(other == "dp" ? "type: swap dp and tp" : "type: swap tp_inner and tp",
            LayoutAttr::get(type.getContext(), dims, swapped(layout.partialAxes(), other), layout.getReduction()));
    }
  }

  void falseDim(int64_t dim) {
    Axes axes = layout.axesOf(dim);
    if (axes.empty())
      return;
    LayoutAttr whole = layout.withDim(dim, {});
    claim("type: forget that a dim is sharded", whole);
    for (int64_t other = 0; other < layout.getRank(); ++other)
      if (layout.axesOf(other).empty())
        claim("type: another dim is sharded", whole.withDim(other, axes));
    Axes partial = layout.partialAxes();
    partial.append(axes);
    claim("type: partial for sharded", whole.withPartial(partial, layout.getReduction()));
  }

  RankedTensorType type;
  LayoutAttr layout;
  dist::MeshOp mesh;
  std::vector<FalseType> types;
};

} // namespace

std::vector<FalseType> tgpt::falseTypesOf(RankedTensorType type, dist::MeshOp mesh) {
  return FalseTypes(type, mesh).run();
}
