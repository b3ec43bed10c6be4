//===- CudnnPlan.h - how cuDNN computes an attention ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A problem as a graph of cuDNN's, and the engine that the library's heuristic puts first
// of those that give the same bits every time and fit the workspace. All that includes the
// library's C++ headers is in the .cpp. A plan for a described device is made without one: that
// is how CI and CudnnPlanTest ask the library what it supports.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_CUDNN_CUDNNPLAN_H
#define TGPT_RUNTIME_KERNELS_CUDA_CUDNN_CUDNNPLAN_H

#include "runtime/kernels/cuda/cudnn/AttentionProblem.h"

#include <cudnn.h>
#include <memory>

namespace tgpt::runtime::cuda {

class CudnnPlan {
public:
  /// For the handle's device. isUsable() is false where the library has no plan.
  CudnnPlan(const AttentionProblem &problem, size_t mostWorkspaceBytes, cudnnHandle_t handle);
  /// For a device as cuDNN describes one, in JSON; `architecture` 90 is sm_90.
  CudnnPlan(const AttentionProblem &problem, size_t mostWorkspaceBytes, std::string_view device, int architecture);
  CudnnPlan(CudnnPlan &&) noexcept;
  ~CudnnPlan();

  bool isUsable() const { return refusal.empty(); }
  /// Why there is no plan, in the library's words.
  const std::string &whyNot() const { return refusal; }
  size_t workspaceBytes() const { return workspace; }
  /// Enqueues a problem of the same key into the handle's stream; returns what went wrong, or nothing.
  std::string run(const AttentionProblem &problem, void *workspace, cudnnHandle_t handle) const;

private:
  struct Graph;
  std::unique_ptr<Graph> graph;
  std::string refusal;
  size_t workspace = 0;
};

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUDNN_CUDNNPLAN_H
