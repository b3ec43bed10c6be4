//===- Ledger.h - what a model of a shape needs, by closed formulas ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas are those of cost/RankMemory.h; a ledger holds their results side by side,
// for the choices that people weigh. Of a number of parameters alone there are states only.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_LEDGER_LEDGER_H
#define TGPT_COMPILER_LEDGER_LEDGER_H

#include "cost/MegatronEstimate.h"
#include "cost/RankMemory.h"
#include <array>
#include <string>
#include <vector>

namespace tgpt {

/// Keys and values that decoding keeps.
struct KvCacheRequest {
  double sequences = 1, tokens = 0; ///< tokens of each
  double elementBytes = 2;
  std::string type = "bf16";
};

struct LedgerRequest {
  std::string model;      ///< what to call it
  cost::ModelShape shape; ///< no layers: unknown
  double parameters = 0;  ///< where the shape is unknown
  cost::Execution run;
  cost::StateBytes states;
  KvCacheRequest kvCache;

  bool hasShape() const { return shape.layers > 0; }
};

/// What a mode of recomputation keeps, without and with sequence parallelism.
struct ActivationLine {
  std::string recompute;
  struct Bytes {
    double layer = 0; ///< of one micro-batch
    double stage = 0; ///< of the fullest stage, all its layers in flight
  };
  Bytes plain, sequenceParallel;
};

struct Ledger {
  LedgerRequest request;
  double parameters = 0;                  ///< of the model
  double stage = 0;                       ///< the fullest
  double rankParameters = 0;              ///< of each of its ranks
  std::array<cost::RankMemory, 4> states; ///< by stage of ZeRO
  std::vector<ActivationLine> activations;
  double layersInFlight = 0;
  cost::RankMemory together; ///< of the run asked for
  cost::MegatronEstimate megatron;
  double kvCacheBytes = 0;
};

/// What the flag --recompute calls a mode; modes that are none of its values have names of their own.
const char *recomputeName(cost::Recompute recompute);

Ledger ledgerOf(const LedgerRequest &request);

/// For people, ending in a newline.
std::string ledgerText(const Ledger &ledger);

} // namespace tgpt

#endif // TGPT_COMPILER_LEDGER_LEDGER_H
