//===- SharedLinks.h - what the rings of an axis get of the links they share ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All groups of a mesh axis run their rings at once, each in the order of its ranks. A
// ring of which a unit (a node, say) holds some ranks but not all leaves that unit once
// and enters it once. So the units' links carry as many flows as there are such rings,
//
//      unit      0 1 2 3 | 4 5 6 7 | 8 9 ...
//      ranks 6,  a a a a   a a b b   b b ...      one ring leaves the first unit, two the second
//      stride 1
//
// and a ring also can't use more links than it has ranks on the unit: each rank sends over
// the link nearest to it. The counts are exact for every size, aligned or not, and follow
// from the lengths of the groups' pieces; the busiest unit rules. A few divisions; where
// sizes do not divide each other, a pass over the ways in which units and groups can meet.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_SHAREDLINKS_H
#define TGPT_COST_SHAREDLINKS_H

#include "cost/Topology.h"

namespace tgpt::cost {

/// Units of `unitRanks` ranks that one group touches, at most.
double unitsTouched(const Group &group, double unitRanks);

/// Links' worth of rate that the ring of the worst-off group gets of those by which units of `unitRanks` ranks hang
/// from a level, `links` each (0: one for each rank). Infinite where no ring leaves its unit.
double linksOfRing(const Group &group, double unitRanks, double links);

} // namespace tgpt::cost

#endif // TGPT_COST_SHAREDLINKS_H
