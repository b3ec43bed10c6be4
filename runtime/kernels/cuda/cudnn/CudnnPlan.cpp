//===- CudnnPlan.cpp - how cuDNN computes an attention ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient is asked for with the library's deterministic algorithm; versions and GPUs
// without one refuse that, and the call is ours.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cudnn/CudnnPlan.h"

#include <cudnn_frontend.h>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;
namespace fe = cudnn_frontend;

namespace {
/// Names of operands in a graph.
enum Uid : int64_t { Q = 1, K, V, O, Statistics, DOut, DQ, DK, DV };
using TensorPointer = std::shared_ptr<fe::graph::Tensor_attributes>;
} // namespace

static std::vector<int64_t> vectorOf(const std::array<int64_t, 4> &values) {
  return {values.begin(), values.end()};
}

/// The first error of several calls.
static fe::error_t chain(std::initializer_list<std::function<fe::error_t()>> calls) {
  for (const std::function<fe::error_t()> &call : calls)
    if (fe::error_t error = call(); error.is_bad())
      return error;
  return {};
}

struct CudnnPlan::Graph {
  explicit Graph(const AttentionProblem &p) : p(p) {}

  /// After what is said of the device: operations take that over.
  void addOperation() {
    graph.set_io_data_type(p.dtype == DType::BF16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::HALF)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    p.isGradient ? addGradient() : addForward();
  }

  /// `prepare` turns the validated graph into the library's.
  fe::error_t plan(const std::function<fe::error_t()> &prepare, size_t mostWorkspaceBytes) {
    return chain({[&] { return graph.validate(); }, prepare,
                  [&] {
                    return graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK});
                  },
                  [&] {
                    graph.deselect_numeric_notes({fe::NumericalNote_t::NONDETERMINISTIC});
                    graph.deselect_workspace_greater_than(static_cast<int64_t>(mostWorkspaceBytes));
                    return graph.check_support();
                  },
                  [&] { return graph.build_plans(fe::BuildPlanPolicy_t::HEURISTICS_CHOICE); }});
  }

  fe::graph::Graph graph;

private:
  TensorPointer input(Uid uid, const HeadLayout &layout) {
    return graph.tensor(fe::graph::Tensor_attributes()
                            .set_uid(uid)
                            .set_dim(vectorOf(layout.dims))
                            .set_stride(vectorOf(layout.strides)));
  }
  static void output(const TensorPointer &tensor, Uid uid, const HeadLayout &layout) {
    tensor->set_output(true).set_uid(uid).set_dim(vectorOf(layout.dims)).set_stride(vectorOf(layout.strides));
  }

  void addForward() {
    auto attributes = fe::graph::SDPA_attributes()
                          .set_name("attention")
                          .set_generate_stats(true)
                          .set_causal_mask(p.causal)
                          .set_attn_scale(static_cast<float>(p.scale));
    auto [o, statistics] =
        graph.sdpa(input(Q, p.queryLayout()), input(K, p.keyLayout()), input(V, p.keyLayout()), attributes);
    output(o, O, p.queryLayout());
    output(statistics, Statistics, p.statisticsLayout());
    statistics->set_data_type(fe::DataType_t::FLOAT);
  }

  void addGradient() {
    auto attributes = fe::graph::SDPA_backward_attributes()
                          .set_name("attention_grad")
                          .set_causal_mask(p.causal)
                          .set_attn_scale(static_cast<float>(p.scale))
                          .set_deterministic_algorithm(true);
    TensorPointer statistics = input(Statistics, p.statisticsLayout());
    statistics->set_data_type(fe::DataType_t::FLOAT);
    auto [dq, dk, dv] =
        graph.sdpa_backward(input(Q, p.queryLayout()), input(K, p.keyLayout()), input(V, p.keyLayout()),
                            input(O, p.queryLayout()), input(DOut, p.queryLayout()), statistics, attributes);
    output(dq, DQ, p.queryLayout());
    output(dk, DK, p.keyLayout());
    output(dv, DV, p.keyLayout());
  }

  AttentionProblem p;
};

/// One line of what may be many.
static std::string textOf(fe::error_t error) {
  std::string text = error.get_message();
  text = text.substr(0, text.find('\n'));
  return text.empty() ? "cuDNN: error " + std::to_string(static_cast<int>(error.get_code())) : "cuDNN: " + text;
}

CudnnPlan::CudnnPlan(const AttentionProblem &problem, size_t mostWorkspaceBytes, cudnnHandle_t handle)
    : graph(std::make_unique<Graph>(problem)) {
  graph->addOperation();
  fe::error_t error = graph->plan([&] { return graph->graph.build_operation_graph(handle); }, mostWorkspaceBytes);
  if (error.is_bad())
    refusal = textOf(error);
  else
    workspace = static_cast<size_t>(graph->graph.get_workspace_size());
}

CudnnPlan::CudnnPlan(const AttentionProblem &problem, size_t mostWorkspaceBytes, std::string_view device,
                     int architecture)
    : graph(std::make_unique<Graph>(problem)) {
  auto properties = std::make_shared<fe::DeviceProperties>();
  fe::error_t error = properties->deserialize({device.begin(), device.end()});
  if (error.is_good()) {
    graph->graph.set_device_properties(properties);
    graph->graph.set_sm_version(architecture);
    graph->addOperation();
    error = graph->plan([&] { return graph->graph.build_operation_graph(); }, mostWorkspaceBytes);
  }
  if (error.is_bad())
    refusal = textOf(error);
  else
    workspace = static_cast<size_t>(graph->graph.get_workspace_size());
}

CudnnPlan::CudnnPlan(CudnnPlan &&) noexcept = default;
CudnnPlan::~CudnnPlan() = default;

std::string CudnnPlan::run(const AttentionProblem &p, void *memory, cudnnHandle_t handle) const {
  auto operand = [](const void *data) { return const_cast<void *>(data); };
  std::unordered_map<int64_t, void *> operands = {
      {Q, operand(p.q)}, {K, operand(p.k)}, {V, operand(p.v)}, {O, p.o}, {Statistics, p.statistics}};
  if (p.isGradient)
    operands.insert({{DOut, operand(p.dout)}, {DQ, p.dq}, {DK, p.dk}, {DV, p.dv}});
  fe::error_t error = graph->graph.execute(handle, operands, memory);
  return error.is_bad() ? textOf(error) : "";
}
