//===- CudaModule.cpp - GPUs, their kernels and products --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that is linked against CUDA: cudart, the device kernels, cuBLASLt, and NCCL and
// cuDNN where the build found them.
//
//===----------------------------------------------------------------------===//
#include "runtime/backends/CudaModule.h"
#include "runtime/backends/DeviceBackends.h"
#include "runtime/comm/nccl/NcclLibrary.h"
#include "runtime/comm/nccl/NcclTransport.h"
#include "runtime/device/CudaDevice.h"
#include "runtime/kernels/cuda/cublaslt/CublasLt.h"
#include "runtime/kernels/cuda/cudnn/AttentionOptions.h"
#ifdef TGPT_HAS_CUDNN
#include "runtime/kernels/cuda/cudnn/Cudnn.h"
#endif
#include "runtime/plan/Error.h"

using namespace tgpt::runtime;

/// A hundredth of a small GPU's.
static constexpr double slowestFlopsPerSecond = 1e10;

/// The transport itself is the program's; the library is loaded here, once, for the first plan that needs it.
static std::unique_ptr<DeviceTransport> connect(const DeviceTransportRequest &request) {
  if (request.grid.ranks() == 1)
    return makeNcclTransport(request, nullptr);
  static const std::unique_ptr<NcclApi> nccl = loadNccl();
  return makeNcclTransport(request, nccl.get());
}

static std::span<const cuda::DeviceKernel> kernelTable() {
#ifdef TGPT_HAS_CUDNN
  return cuda::cudnnKernelTable();
#else
  if (cuda::attentionOptions().choice == cuda::AttentionChoice::Library)
    throw Error("this build has no cuDNN: configure it with -DTGPT_CUDNN=ON where there is cuDNN, or use "
                "--attention=own");
  return cuda::cublasLtKernelTable();
#endif
}

extern "C" void tgptMakeCudaBackend(DeviceBackend &backend) {
  backend.device = makeCudaDevice();
  backend.kernels = deviceKernels("cuda", kernelTable(), slowestFlopsPerSecond);
  useFusedKernels(backend, cuda::cublasLtFusedKernels(), kernelTable());
  useDeviceQueue(backend);
  backend.connect = connect;
}
