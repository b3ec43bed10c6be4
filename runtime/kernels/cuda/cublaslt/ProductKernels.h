//===- ProductKernels.h - kernels that are products of a library -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `linear`, `linear_dgrad`, `linear_dgrad_sum`, `linear_wgrad`, and pairs of kernels that a
// product does with its epilogue, through a provider of products: cuBLASLt, or what stands for it on the
// host. A provider is a type with
//   static std::span<const DeviceKernel> ordered();   the table of the other kernels
//   static bool supports(const ColumnMajorProduct &); false: a pair is done one by one
//   static KernelStatus multiply(const ColumnMajorProduct &);
// multiply may use the product's workspace: what the plan gives, also none. Calls in f64
// and with attribute `chunks` go to the kernels of Linear.cu, whose order is fixed, and so
// do those whose bias no epilogue can read.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_PRODUCTKERNELS_H
#define TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_PRODUCTKERNELS_H

#include "runtime/kernels/cuda/KernelTable.h"
#include "runtime/kernels/cuda/Queue.h"
#include "runtime/kernels/cuda/cublaslt/ColumnMajorProduct.h"
#include "runtime/kernels/cuda/cublaslt/Fusion.h"
#include "runtime/kernels/cuda/cublaslt/ProductOptions.h"

#include <algorithm>

namespace tgpt::runtime::cuda {

/// Whether the order of the call's sums is fixed by us.
bool isOrdered(const KernelCall &call);

/// Whether a sum that is stored after each addend is as exact as one that is stored once.
bool addsExactly(const KernelCall &linearDgradSum);

/// Attributes of a call that overwrites output 0, or adds to it.
const Attributes &accumulating(bool accumulate);

template <typename Provider> class ProductKernels {
public:
  static KernelStatus linear(const KernelCall &call) { return product<linearProduct>(call, "linear"); }
  static KernelStatus linearDgrad(const KernelCall &call) { return product<linearDgradProduct>(call, "linear_dgrad"); }
  static KernelStatus linearWgrad(const KernelCall &call) { return product<linearWgradProduct>(call, "linear_wgrad"); }

  /// One product an addend, each added to the ones before.
  static KernelStatus linearDgradSum(const KernelCall &call) {
    if (isOrdered(call) || !addsExactly(call))
      return other("linear_dgrad_sum", call);
    size_t count = call.inputs.size() / 2;
    KernelStatus status;
    for (size_t i = 0; i < count && status.ok(); ++i) {
      TensorView inputs[] = {call.inputs[i], call.inputs[count + i]};
      ColumnMajorProduct p = allowed(linearDgradProduct({inputs, call.outputs, call.attributes}));
      p.accumulate = i > 0;
      status = Provider::multiply(p);
    }
    return status;
  }

  static KernelStatus linearGelu(const KernelCall &call) {
    if (ColumnMajorProduct p = allowed(linearGeluProduct(call)); supports(p))
      return Provider::multiply(p);
    KernelStatus status = linear({call.inputs, call.outputs.first(1), call.attributes});
    return status.ok() ? other("gelu", {call.outputs.first(1), call.outputs.subspan(1), call.attributes}) : status;
  }

  static KernelStatus dgradGeluGrad(const KernelCall &call) {
    if (ColumnMajorProduct p = allowed(dgradGeluGradProduct(call)); supports(p))
      return Provider::multiply(p);
    KernelStatus status = linearDgrad({call.inputs.first(2), call.outputs, call.attributes});
    TensorView inputs[] = {call.outputs[0], call.inputs[2]};
    return status.ok() ? other("gelu_grad", {inputs, call.outputs, call.attributes}) : status;
  }

  /// A sum that is added to is made at the beginning of the workspace; the library has the rest.
  static KernelStatus wgradBias(const KernelCall &call) {
    TensorView sums = call.outputs[1];
    bool isAdded = call.accumulates(1);
    if (queue().workspaceBytes < wgradBiasWorkspace(call))
      return {workspaceTooSmall};
    if (isAdded)
      sums.data = queue().workspace;
    ColumnMajorProduct p = allowed(wgradBiasProduct(call, sums.data), isAdded ? Scratch::roundUp(sums.bytes()) : 0);
    if (!supports(p)) {
      KernelStatus status = linearWgrad({call.inputs, call.outputs.first(1), &accumulating(call.accumulates(0))});
      return status.ok() ? other("sum_leading", sumOfRows(call)) : status;
    }
    KernelStatus status = Provider::multiply(p);
    if (!status.ok() || !isAdded)
      return status;
    return other("accumulate", {{&sums, 1}, call.outputs.subspan(1), &accumulating(true)});
  }
  static size_t wgradBiasWorkspace(const KernelCall &call) {
    return std::max(Scratch::roundUp(call.outputs[1].bytes()),
                    kernelOf(Provider::ordered(), "sum_leading").workspaceBytes(sumOfRows(call)));
  }

  /// The provider's ordered table with the products through it.
  static std::vector<DeviceKernel> table() {
    std::vector<DeviceKernel> kernels(Provider::ordered().begin(), Provider::ordered().end());
    for (DeviceKernel &kernel : kernels)
      for (auto [name, function] : {std::pair<std::string_view, KernelFunction>("linear", linear),
                                    {"linear_dgrad", linearDgrad},
                                    {"linear_dgrad_sum", linearDgradSum},
                                    {"linear_wgrad", linearWgrad}})
        if (kernel.entry.name == name)
          kernel.entry.kernel.function = function;
    return kernels;
  }

  static std::vector<FusedKernel> fused() {
    return {{"linear", "gelu", linearGelu},
            {"linear_dgrad", "gelu_grad", dgradGeluGrad},
            {"linear_wgrad", "sum_leading", wgradBias, wgradBiasWorkspace}};
  }

private:
  template <ColumnMajorProduct (*productOf)(const KernelCall &)>
  static KernelStatus product(const KernelCall &call, std::string_view name) {
    if (isOrdered(call))
      return other(name, call);
    ColumnMajorProduct p = allowed(productOf(call));
    return alignmentOfEpilogue(p) < epilogueAlignment ? other(name, call) : Provider::multiply(p);
  }
  static bool supports(const ColumnMajorProduct &p) {
    return alignmentOfEpilogue(p) >= epilogueAlignment && Provider::supports(p);
  }
  static KernelStatus other(std::string_view name, const KernelCall &call) {
    return kernelOf(Provider::ordered(), name).entry.kernel.function(call);
  }
  static KernelCall sumOfRows(const KernelCall &call) {
    return {call.inputs.first(1), call.outputs.subspan(1), &accumulating(call.accumulates(1))};
  }
  /// `usedBytes` of the workspace are taken.
  static ColumnMajorProduct allowed(ColumnMajorProduct p, size_t usedBytes = 0) {
    p.workspace = static_cast<char *>(queue().workspace) + usedBytes;
    p.workspaceBytes = queue().workspaceBytes - usedBytes;
    p.tf32 = productOptions().tf32 && p.inputType == DType::F32;
    return p;
  }
};

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUBLASLT_PRODUCTKERNELS_H
