//===- AttentionKernels.h - attention by a library or by us -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `attention` and `attention_grad` of a table of kernels, each call by the faster of ours
// and a library's: cuDNN, or what stands for it on the host. A provider is a type with
//   static std::string version();     "cudnn 91900": a choice holds for one
//   static bool keepsScores();        libraryWorkspaceBytes
//   static KernelStatus open();       makes keptAlgorithms() of the thread; may fail where there is no such library
//   static bool supports(const AttentionProblem &);   with libraryWorkspaceBytes, and the same bits every time
//   static KernelStatus run(const AttentionProblem &, void *memory);
//   static bool mayMeasure();
//   static std::optional<double> seconds(const std::function<KernelStatus()> &work);
// run is given libraryWorkspaceBytes of memory. A call overwrites its results, so it may run
// again for its time alone. A thread whose library cannot be opened has our kernels, with one
// warning, where the faster is wanted; where the library is, that is an error.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_CUDNN_ATTENTIONKERNELS_H
#define TGPT_RUNTIME_KERNELS_CUDA_CUDNN_ATTENTIONKERNELS_H

#include "runtime/kernels/cuda/KernelTable.h"
#include "runtime/kernels/cuda/Queue.h"
#include "runtime/kernels/cuda/cublaslt/AlgorithmTimes.h"
#include "runtime/kernels/cuda/cublaslt/KeptAlgorithms.h"
#include "runtime/kernels/cuda/cudnn/AttentionOptions.h"
#include "runtime/kernels/cuda/cudnn/AttentionProblem.h"

namespace tgpt::runtime::cuda {

/// What a file of algorithms calls the two.
inline constexpr const char *ownAttention = "own", *libraryAttention = "library";

template <typename Provider, std::span<const DeviceKernel> (*baseTable)()> class AttentionKernels {
public:
  static KernelStatus attention(const KernelCall &call) { return attend<attentionProblem>(call, own("attention")); }
  static KernelStatus attentionGrad(const KernelCall &call) {
    return attend<attentionGradProblem>(call, own("attention_grad"));
  }
  static size_t libraryBytes(const KernelCall &call) {
    std::optional<AttentionProblem> problem =
        call.outputs.size() == 2 ? attentionProblem(call) : attentionGradProblem(call);
    return isAllowed(problem) ? bytesOf(*problem) : 0;
  }

  /// The base table with attention by the library, where options say so.
  static std::vector<DeviceKernel> table() {
    std::vector<DeviceKernel> kernels(baseTable().begin(), baseTable().end());
    for (DeviceKernel &kernel : kernels)
      if (kernel.entry.name == "attention" || kernel.entry.name == "attention_grad") {
        kernel.entry.kernel.function = kernel.entry.name == "attention" ? attention : attentionGrad;
        kernel.libraryBytes = libraryBytes;
      }
    return kernels;
  }

private:
  static const DeviceKernel &own(std::string_view name) { return kernelOf(baseTable(), name); }

  static size_t bytesOf(const AttentionProblem &problem) {
    return libraryWorkspaceBytes(problem, Provider::keepsScores());
  }
  /// Whether the options allow the library: they are the process', a call's answer is always the same.
  static bool isAllowed(const std::optional<AttentionProblem> &problem) {
    return problem && attentionOptions().choice != AttentionChoice::Own &&
           bytesOf(*problem) <= attentionOptions().mostWorkspaceBytes;
  }

  template <std::optional<AttentionProblem> (*problemOf)(const KernelCall &)>
  static KernelStatus attend(const KernelCall &call, const DeviceKernel &ours) {
    std::optional<AttentionProblem> problem = problemOf(call);
    auto runOwn = [&] { return ours.entry.kernel.function(call); };
    if (!isAllowed(problem) || !operandsAreAligned(call)) {
      ++attentionCounts().own;
      return runOwn();
    }
    void *memory = queue().forLibrary(bytesOf(*problem));
    if (!memory)
      return {workspaceTooSmall};
    if (KernelStatus status = open(); !status.ok())
      return status;
    if (isMissing) {
      ++attentionCounts().own;
      return runOwn();
    }
    auto runLibrary = [&] { return Provider::run(*problem, memory); };
    bool isLibrarys = takesLibrary(*problem, runOwn, runLibrary);
    ++(isLibrarys ? attentionCounts().library : attentionCounts().own);
    return isLibrarys ? runLibrary() : runOwn();
  }

  /// Fails where the options leave no other way than the library.
  static KernelStatus open() {
    if (isMissing)
      return {};
    KernelStatus status = Provider::open();
    if (status.ok())
      return status;
    if (attentionOptions().choice == AttentionChoice::Library) {
      failure = std::string(status.error) + "; --attention=own needs no such library";
      return {failure.c_str()};
    }
    isMissing = true;
    warnOfMissingAttention(status.error);
    return {};
  }

  static bool takesLibrary(const AttentionProblem &problem, const std::function<KernelStatus()> &runOwn,
                           const std::function<KernelStatus()> &runLibrary) {
    if (!Provider::supports(problem))
      return false;
    if (attentionOptions().choice == AttentionChoice::Library)
      return true;
    std::string key = problem.key() + ", " + Provider::version();
    if (const std::string *taken = keptAlgorithms().findTaken(key))
      return *taken == libraryAttention;
    if (!Provider::mayMeasure())
      return false;
    constexpr int rounds = 5;
    std::optional<int> best =
        fastest(2, rounds, [&](int i) { return Provider::seconds(i == 0 ? runOwn : runLibrary); });
    bool isLibrarys = best == 1;
    keptAlgorithms().take(key, isLibrarys ? libraryAttention : ownAttention);
    return isLibrarys;
  }

  static inline thread_local bool isMissing = false; ///< the library could not be opened
  static inline thread_local std::string failure;    ///< what the last error points to
};

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUDNN_ATTENTIONKERNELS_H
