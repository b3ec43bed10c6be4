//===- CudaArchitectures.cpp - which GPUs a build has code for --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/device/CudaArchitectures.h"

#include <cstdlib>
#include <sstream>

using namespace tgpt::runtime;

static bool runs(const std::string &architecture, int capability) {
  int own = std::atoi(architecture.c_str());
  bool isForOneAlone = architecture.find_first_not_of("0123456789") != std::string::npos;
  return isForOneAlone ? capability == own : capability >= own;
}

/// What TGPT_CUDA_ARCHITECTURES should have for a GPU.
static const char *architectureFor(int capability) {
  return capability >= 100 ? "100" : capability == 90 ? "90a" : "80";
}

std::string tgpt::runtime::whyNoCode(std::string_view architectures, int major, int minor) {
  int capability = 10 * major + minor;
  std::istringstream entries{std::string(architectures)};
  std::string built;
  for (std::string architecture; entries >> architecture;) {
    if (runs(architecture, capability))
      return "";
    built += (built.empty() ? "sm_" : ", sm_") + architecture;
  }
  std::string text = "it has compute capability " + std::to_string(major) + "." + std::to_string(minor) + ", ";
  if (capability < 80)
    return text + "8.0 or newer is needed";
  return text + "but this build is for " + built +
         ": configure it with -DTGPT_CUDA_ARCHITECTURES=" + architectureFor(capability);
}
