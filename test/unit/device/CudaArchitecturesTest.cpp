//===- CudaArchitecturesTest.cpp - which GPUs a build has code for -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/device/CudaArchitectures.h"

#include <gtest/gtest.h>

using tgpt::runtime::whyNoCode;

TEST(CudaArchitectures, CodeForHopperRunsOnHopperAlone) {
  EXPECT_EQ(whyNoCode("90a", 9, 0), "");
  EXPECT_EQ(
      whyNoCode("90a", 8, 0),
      "it has compute capability 8.0, but this build is for sm_90a: configure it with -DTGPT_CUDA_ARCHITECTURES=80");
  EXPECT_EQ(whyNoCode("90a", 10, 0), "it has compute capability 10.0, but this build is for sm_90a: configure it with "
                                     "-DTGPT_CUDA_ARCHITECTURES=100");
  EXPECT_EQ(whyNoCode("90a", 12, 0), "it has compute capability 12.0, but this build is for sm_90a: configure it with "
                                     "-DTGPT_CUDA_ARCHITECTURES=100");
}

TEST(CudaArchitectures, OtherCodeRunsOnLaterGpusToo) {
  EXPECT_EQ(whyNoCode("80", 8, 0), "");
  EXPECT_EQ(whyNoCode("80", 8, 9), "");
  EXPECT_EQ(whyNoCode("80", 9, 0), "") << "compiled by the driver";
  EXPECT_EQ(whyNoCode("100", 10, 3), "");
  EXPECT_EQ(whyNoCode("100", 9, 0), "it has compute capability 9.0, but this build is for sm_100: configure it with "
                                    "-DTGPT_CUDA_ARCHITECTURES=90a");
  EXPECT_EQ(whyNoCode("90a 100", 8, 6),
            "it has compute capability 8.6, but this build is for sm_90a, sm_100: configure "
            "it with -DTGPT_CUDA_ARCHITECTURES=80");
  EXPECT_EQ(whyNoCode("80 90a 100", 9, 0), "");
}

TEST(CudaArchitectures, GpusBeforeAmpereAreTooOld) {
  EXPECT_EQ(whyNoCode("80 90a 100", 7, 5), "it has compute capability 7.5, 8.0 or newer is needed");
}
