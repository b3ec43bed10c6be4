//===- LayerTime.h - seconds of one layer for one micro-batch on one rank ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layer is four matrix products (q, k and v together; the projection; up, with the gate;
// down), the core of attention, and elementwise kernels. Backward computes every product
// twice: once for the input's gradient, once for the weight's. All ranks of a tensor-
// parallel group compute 1/tp of each product; norms, dropout and residuals are whole on
// every rank unless sequence parallelism shards them (arXiv 2205.05198, section 4).
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_LAYERTIME_H
#define TGPT_COST_LAYERTIME_H

#include "cost/Execution.h"
#include "cost/ModelShape.h"

namespace tgpt::cost {

/// What one micro-batch costs in one layer, or in the layers at the model's ends. Computation and exposed tp
/// communication; what is sent for dp and pp is not in here.
struct PassSeconds {
  double forward = 0;
  double backwardInput = 0;  ///< gradients of activations, recomputation included
  double backwardWeight = 0; ///< gradients of weights

  double backward() const { return backwardInput + backwardWeight; }
  double total() const { return forward + backward(); }
};

/// Seconds of the parts, for reports and tests.
struct LayerParts {
  double forwardProducts = 0, inputProducts = 0, weightProducts = 0;
  double lastProduct = 0; ///< of the forward products: down, whose result backward does not need
  double forwardAttention = 0, backwardAttention = 0;
  double forwardElementwise = 0, backwardElementwise = 0;
  double normsAndActivation = 0;                              ///< of the forward's elementwise kernels
  double forwardCommunication = 0, backwardCommunication = 0; ///< exposed
};

LayerParts layerParts(const Machine &machine, const ModelShape &shape, const Execution &run);
/// What of its forward a layer computes again in its backward.
double recomputedSeconds(const LayerParts &parts, const Execution &run, const Software &software);
/// The parts put together, with what is recomputed.
PassSeconds layerSeconds(const LayerParts &parts, const Execution &run, const Software &software);
/// The token embedding on the first stage.
PassSeconds embeddingSeconds(const Machine &machine, const ModelShape &shape, const Execution &run);
/// Final norm, output projection and loss on the last stage.
PassSeconds headSeconds(const Machine &machine, const ModelShape &shape, const Execution &run);

} // namespace tgpt::cost

#endif // TGPT_COST_LAYERTIME_H
