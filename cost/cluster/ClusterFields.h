//===- ClusterFields.h - the figures of a cluster file, and what each may be ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table a section: reading, checking, writing and documenting go over it. (Those of
// the device are in cost/DeviceProfile.h.)
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_CLUSTER_CLUSTERFIELDS_H
#define TGPT_COST_CLUSTER_CLUSTERFIELDS_H

#include "cost/cluster/Cluster.h"
#include <variant>

namespace tgpt::cost {

/// What values a figure may have.
enum class FigureRange {
  Positive, ///< 1e-12 to 1e24
  Amount,   ///< 0, or as above
  Share,    ///< 0 to 1
  Count     ///< a whole number from 1 to 2^30
};

template <typename Owner> struct ClusterField {
  const char *key;
  const char *meaning;
  std::variant<double Owner::*, bool Owner::*> member;
  FigureRange range = FigureRange::Amount; ///< of a number
  bool isOptional = false;
};

const std::vector<ClusterField<Level>> &levelFields();
const std::vector<ClusterField<CommunicatorMemory>> &communicatorFields();
const std::vector<ClusterField<Software>> &softwareFields();

/// What the range accepts, in words.
const char *wordsOf(FigureRange range);
bool isWithin(FigureRange range, double figure);

} // namespace tgpt::cost

#endif // TGPT_COST_CLUSTER_CLUSTERFIELDS_H
