//===- CudaBackend.cpp - loads what needs CUDA ------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The libraries of CUDA are 700 MB, and most runs and machines have no use for them: so
// they are dependencies of a module (CudaModule.cpp), which a build with a toolkit puts
// beside the program. It uses the program's own copy of all that both have.
//
//===----------------------------------------------------------------------===//
#include "runtime/backends/CudaModule.h"
#include "runtime/backends/DeviceBackends.h"
#include "runtime/plan/Error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

using namespace tgpt::runtime;
namespace fs = std::filesystem;

static constexpr const char *alternatives = "; use --backend=cpu, or --backend=cuda-emulated to try out a plan";

std::string tgpt::runtime::whatLibraryIsMissing(std::string_view loaderSays) {
  struct {
    std::string_view prefix;
    const char *advice;
  } libraries[] = {
      {"libcudnn", "have cuDNN's folder of libraries on LD_LIBRARY_PATH, or configure the build with -DTGPT_CUDNN=OFF: "
                   "--attention=own needs none"},
      {"libnccl", "have NCCL's folder of libraries on LD_LIBRARY_PATH"},
      {"libcuda.so", "install NVIDIA's driver"},
      {"libcu", "have the CUDA toolkit's folder of libraries on LD_LIBRARY_PATH"},
      {"libnvrtc", "have the CUDA toolkit's folder of libraries on LD_LIBRARY_PATH"},
  };
  for (const auto &[prefix, advice] : libraries)
    if (loaderSays.substr(0, prefix.size()) == prefix)
      return std::string(": ") + advice;
  return "";
}

/// Before CUDA starts, which reads them then; what the user has set stays.
static void setCudaVariables() {
  // Queues of a device. Streams that share one wait for each other: with the usual 8, computation could stand behind a
  // receive whose message does not come before it.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

std::shared_ptr<const DeviceBackend> tgpt::runtime::cudaBackend() {
  std::error_code ignored;
  fs::path module = fs::read_symlink("/proc/self/exe", ignored).parent_path() / cudaModuleFile;
  if (!fs::exists(module, ignored))
    throw Error("this build has no CUDA backend: configure it with -DTGPT_CUDA=ON where there is a CUDA toolkit (there "
                "is no " +
                module.string() + ")" + alternatives);
  setCudaVariables();
  void *library = ::dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::string said = ::dlerror();
    throw Error("the CUDA backend cannot be loaded: " + said + whatLibraryIsMissing(said) + alternatives);
  }
  auto make = reinterpret_cast<MakeCudaBackend *>(::dlsym(library, cudaModuleSymbol));
  if (!make)
    throw Error("'" + module.string() + "' is no CUDA backend: " + ::dlerror());
  auto backend = std::make_shared<DeviceBackend>();
  make(*backend);
  int devices = 0;
  try {
    devices = backend->device->count();
  } catch (const Error &error) {
    throw Error("this machine has no CUDA device: " + std::string(error.what()) + alternatives);
  }
  if (devices == 0)
    throw Error(std::string("this machine has no CUDA device") + alternatives);
  return backend;
}
