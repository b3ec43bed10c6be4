//===- CudaDevice.cpp - the GPUs of this machine ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/device/CudaDevice.h"
#include "runtime/device/CudaArchitectures.h"
#include "runtime/plan/Error.h"

#include <cuda_runtime_api.h>

using namespace tgpt::runtime;

/// Throws Error: "cudaMemcpyAsync: an illegal memory access was encountered (cudaErrorIllegalAddress)".
static void require(cudaError_t status, const char *call) {
  if (status == cudaSuccess)
    return;
  cudaGetLastError(); // or the next launch would report it again
  throw Error(std::string(call) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

static cudaStream_t native(DeviceStream stream) {
  return static_cast<cudaStream_t>(stream.handle);
}
static cudaEvent_t native(DeviceEvent event) {
  return static_cast<cudaEvent_t>(event.handle);
}
static cudaGraphExec_t native(DeviceGraph graph) {
  return static_cast<cudaGraphExec_t>(graph.handle);
}

namespace {
class CudaDevice final : public DeviceRuntime {
public:
  std::string name() const override { return "cuda"; }
  int count() const override {
    int count = 0;
    require(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    return count;
  }
  std::string describe(int device) const override {
    cudaDeviceProp properties{};
    require(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    return properties.name;
  }
  std::string address(int device) const override {
    char text[32] = {};
    require(cudaDeviceGetPCIBusId(text, sizeof(text), device), "cudaDeviceGetPCIBusId");
    return text;
  }
  std::string whyUnfit(int device) const override {
    int major = 0, minor = 0;
    require(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
    require(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "cudaDeviceGetAttribute");
    return whyNoCode(TGPT_BUILT_ARCHITECTURES, major, minor);
  }
  size_t freeBytes() const override {
    size_t free = 0, total = 0;
    require(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free;
  }
  void select(int device) override { require(cudaSetDevice(device), "cudaSetDevice"); }

  void *allocate(size_t bytes) override {
    void *memory = nullptr;
    require(cudaMalloc(&memory, bytes), "cudaMalloc");
    return memory;
  }
  void release(void *memory) noexcept override { cudaFree(memory); }
  void *allocateHost(size_t bytes) override {
    void *memory = nullptr;
    require(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    return memory;
  }
  void releaseHost(void *memory) noexcept override { cudaFreeHost(memory); }

  DeviceStream createStream(std::string_view) override {
    cudaStream_t stream = nullptr;
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return {stream};
  }
  void destroy(DeviceStream stream) noexcept override {
    if (stream.handle)
      cudaStreamDestroy(native(stream));
  }
  DeviceEvent createEvent() override {
    cudaEvent_t event = nullptr;
    require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    return {event};
  }
  void destroy(DeviceEvent event) noexcept override {
    if (event.handle)
      cudaEventDestroy(native(event));
  }

  void record(DeviceEvent event, DeviceStream stream) override {
    require(cudaEventRecord(native(event), native(stream)), "cudaEventRecord");
  }
  void wait(DeviceStream stream, DeviceEvent event) override {
    require(cudaStreamWaitEvent(native(stream), native(event), 0), "cudaStreamWaitEvent");
  }
  bool isDone(DeviceEvent event) override {
    cudaError_t status = cudaEventQuery(native(event));
    if (status == cudaErrorNotReady)
      return cudaGetLastError(), false;
    require(status, "cudaEventQuery");
    return true;
  }
  void synchronize(DeviceStream stream) override {
    require(cudaStreamSynchronize(native(stream)), "cudaStreamSynchronize");
  }
  void drain(DeviceStream stream) noexcept override {
    cudaStreamSynchronize(native(stream));
    cudaGetLastError();
  }

  void copy(DeviceStream stream, void *to, const void *from, size_t bytes) override {
    require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(stream)), "cudaMemcpyAsync");
  }
  void fill(DeviceStream stream, void *to, uint8_t byte, size_t bytes) override {
    require(cudaMemsetAsync(to, byte, bytes, native(stream)), "cudaMemsetAsync");
  }
  void copyNow(void *to, const void *from, size_t bytes) override {
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    require(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
    // Out of pageable memory it may return before the device has the last bytes, and our streams would not wait for it.
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  void issue(DeviceStream, std::string_view, std::span<const DeviceAccess>, std::function<void()> enqueue) override {
    enqueue();
  }

  void beginCapture(DeviceStream stream) override {
    require(cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  }
  DeviceGraph endCapture(DeviceStream stream) override {
    cudaGraph_t graph = nullptr;
    require(cudaStreamEndCapture(native(stream), &graph), "cudaStreamEndCapture");
    cudaGraphExec_t executable = nullptr;
    cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    require(status, "cudaGraphInstantiate");
    if (status = cudaGraphUpload(executable, native(stream)); status != cudaSuccess)
      cudaGraphExecDestroy(executable);
    require(status, "cudaGraphUpload");
    return {executable};
  }
  void abandonCapture(DeviceStream stream) noexcept override {
    cudaGraph_t graph = nullptr;
    if (cudaStreamEndCapture(native(stream), &graph) == cudaSuccess && graph)
      cudaGraphDestroy(graph);
    cudaGetLastError();
  }
  void launch(DeviceStream stream, DeviceGraph graph) override {
    require(cudaGraphLaunch(native(graph), native(stream)), "cudaGraphLaunch");
  }
  void destroy(DeviceGraph graph) noexcept override {
    if (graph.handle)
      cudaGraphExecDestroy(native(graph));
  }

  void touch(const void *, size_t, bool) override {}
};
} // namespace

std::unique_ptr<DeviceRuntime> tgpt::runtime::makeCudaDevice() {
  return std::make_unique<CudaDevice>();
}
