//===- StandInDriver.cpp - a driver that runs nothing -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Built as libcuda.so.1. cuDNN makes a plan for a device that is described to it, without
// one, but hands the kernels that it compiles to the driver. This one takes every module and
// finds every kernel in it; all else is refused: a program that would run one fails.
//
//===----------------------------------------------------------------------===//

namespace {
constexpr int success = 0, noDriver = 34;
int something = 0;

int give(void **handle) {
  *handle = &something;
  return success;
}
} // namespace

extern "C" {
int cuLibraryLoadData(void **library) {
  return give(library);
}
int cuLibraryGetKernel(void **kernel) {
  return give(kernel);
}
int cuKernelGetFunction(void **function) {
  return give(function);
}
int cuModuleLoadData(void **module) {
  return give(module);
}
int cuModuleLoadDataEx(void **module) {
  return give(module);
}
int cuModuleGetFunction(void **function) {
  return give(function);
}
int cuKernelGetAttribute(int *value) {
  *value = 0;
  return success;
}
int cuFuncGetAttribute(int *value) {
  *value = 0;
  return success;
}
#define TGPT_SUCCEEDS(name)                                                                                            \
  int name() {                                                                                                         \
    return success;                                                                                                    \
  }
#define TGPT_REFUSES(name)                                                                                             \
  int name() {                                                                                                         \
    return noDriver;                                                                                                \
  }
TGPT_SUCCEEDS(cuLibraryUnload)
TGPT_SUCCEEDS(cuModuleUnload)
TGPT_SUCCEEDS(cuKernelSetAttribute)
TGPT_SUCCEEDS(cuFuncSetAttribute)
TGPT_REFUSES(cuCtxGetCurrent)
TGPT_REFUSES(cuCtxGetLimit)
TGPT_REFUSES(cuCtxPopCurrent)
TGPT_REFUSES(cuCtxPushCurrent)
TGPT_REFUSES(cuDeviceGet)
TGPT_REFUSES(cuDeviceGetCount)
TGPT_REFUSES(cuDriverGetVersion)
TGPT_REFUSES(cuGetErrorName)
TGPT_REFUSES(cuGetErrorString)
TGPT_REFUSES(cuLaunchCooperativeKernel)
TGPT_REFUSES(cuLaunchKernel)
TGPT_REFUSES(cuLaunchKernelEx)
TGPT_REFUSES(cuLibraryLoadFromFile)
TGPT_REFUSES(cuLinkAddData)
TGPT_REFUSES(cuLinkComplete)
TGPT_REFUSES(cuLinkCreate)
TGPT_REFUSES(cuLinkDestroy)
TGPT_REFUSES(cuOccupancyMaxPotentialClusterSize)
TGPT_REFUSES(cuStreamGetCtx)
}
