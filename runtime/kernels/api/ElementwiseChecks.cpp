//===- ElementwiseChecks.cpp - shape checks of elementwise kernels --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/CallChecker.h"
#include "runtime/kernels/api/ShapeChecks.h"

using namespace tgpt::runtime;

/// `inputs` and `outputs` operands, all of one shape and one compute dtype.
static std::string checkUniform(const KernelCall &call, size_t inputs, size_t outputs) {
  CallChecker c(call, inputs, inputs, outputs);
  c.computeType({input(0)});
  for (size_t i = 1; i < inputs; ++i) {
    c.sameType(input(i), input(0));
    c.sameShape(input(i), input(0));
  }
  for (size_t i = 0; i < outputs; ++i) {
    c.sameType(output(i), input(0));
    c.sameShape(output(i), input(0));
  }
  return c.error();
}

std::string tgpt::runtime::checkGelu(const KernelCall &call) {
  return checkUniform(call, 1, 1);
}
std::string tgpt::runtime::checkGeluGrad(const KernelCall &call) {
  return checkUniform(call, 2, 1);
}
std::string tgpt::runtime::checkSwiglu(const KernelCall &call) {
  return checkUniform(call, 2, 1);
}
std::string tgpt::runtime::checkSwigluGrad(const KernelCall &call) {
  return checkUniform(call, 3, 2);
}

std::string tgpt::runtime::checkAdd(const KernelCall &call) {
  CallChecker c(call, 2, 2, 1);
  c.computeType({input(0), input(1), output(0)});
  c.trailingShape(input(1), input(0));
  c.sameShape(output(0), input(0));
  return c.error();
}

std::string tgpt::runtime::checkAddN(const KernelCall &call) {
  CallChecker c(call, 1, SIZE_MAX, 1);
  c.computeType({input(0), output(0)});
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    c.sameType(input(i), input(0));
    c.sameShape(input(i), input(0));
  }
  c.sameShape(output(0), input(0));
  return c.error();
}

std::string tgpt::runtime::checkDropout(const KernelCall &call) {
  CallChecker c(call, 3, 3, 1);
  c.computeType({input(0), output(0)});
  c.indexType(input(1));
  c.indexType(input(2));
  c.minRank(input(0), 3);
  c.shape(input(0), {c.dim(input(0), 0), c.dim(input(0), 1), c.dim(input(0), 2)});
  c.shape(input(1), {c.dim(input(0), 0)});
  c.scalar(input(2));
  c.sameShape(output(0), input(0));
  c.requireReal("probability");
  if (double p = call.attributes->real("probability"); !c.failed() && !(p >= 0 && p < 1))
    c.fail("attribute probability is " + std::to_string(p) + ", expected at least 0 and below 1");
  c.requireInteger("key", INT64_MIN);
  // A counter has 32 bits for the position and for a quarter of the column.
  c.optionalInteger("position_offset", 0, INT32_MAX);
  c.optionalInteger("width_offset", 0, INT32_MAX);
  return c.error();
}
