//===- InstructionRunners.cpp - how each kind is executed -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One small function per instruction kind, and the table that selects it.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/InstructionRunners.h"
#include "runtime/engine/Scalar.h"
#include "runtime/plan/Error.h"

using namespace tgpt;
using namespace tgpt::runtime;

static void runKernel(const BoundInstruction &instruction, StepContext &) {
  KernelStatus status = instruction.function(instruction.call);
  if (!status.ok())
    throw Error(status.error);
}

Reduction tgpt::runtime::reductionOf(const plan::Instruction &instruction) {
  const std::string &opcode = instruction.opcode();
  return opcode == "max" ? Reduction::Max : opcode == "tree_sum" ? Reduction::TreeSum : Reduction::Sum;
}

static void runAllReduce(const BoundInstruction &instruction, StepContext &) {
  instruction.group->allReduce(instruction.call.inputs[0], instruction.call.outputs[0], reductionOf(*instruction.source));
}

static void runAllGather(const BoundInstruction &instruction, StepContext &) {
  instruction.group->allGather(instruction.call.inputs[0], instruction.call.outputs[0],
                               static_cast<int>(instruction.source->dim()));
}

static void runReduceScatter(const BoundInstruction &instruction, StepContext &) {
  instruction.group->reduceScatter(instruction.call.inputs[0], instruction.call.outputs[0],
                                   static_cast<int>(instruction.source->dim()), reductionOf(*instruction.source));
}

static void runAllToAll(const BoundInstruction &instruction, StepContext &) {
  instruction.group->allToAll(instruction.call.inputs[0], instruction.call.outputs[0],
                              static_cast<int>(instruction.source->dim()),
                              static_cast<int>(instruction.source->dim2()));
}

static void runSend(const BoundInstruction &instruction, StepContext &) {
  instruction.sender->send(instruction.call.inputs[0]);
}

static void runReceive(const BoundInstruction &instruction, StepContext &) {
  instruction.receiver->receive(instruction.call.outputs[0]);
}

static void runInput(const BoundInstruction &instruction, StepContext &context) {
  if (instruction.source->opcode() == "micro_batch") // what the engine knows itself
    return storeElement(instruction.call.outputs[0], static_cast<double>(context.microBatch));
  context.inputs->fill(instruction.source->opcode(), context.dpIndex, context.microBatch, instruction.call.outputs[0]);
}

static void runOutput(const BoundInstruction &instruction, StepContext &context) {
  context.metrics[instruction.metric] = {loadElement(instruction.call.inputs[0]), true};
}

static void runStart(const BoundInstruction &instruction, StepContext &context) {
  if (context.started)
    context.started->start(instruction, context);
  else
    instruction.exchange(instruction, context);
}

static void runWait(const BoundInstruction &instruction, StepContext &context) {
  if (context.started)
    context.started->wait(instruction);
}

InstructionRunner tgpt::runtime::startRunner() {
  return runStart;
}

InstructionRunner tgpt::runtime::runnerOf(const plan::Instruction &instruction) {
  static constexpr InstructionRunner runners[] = {nullptr,          runKernel,   runAllReduce, runAllGather,
                                                  runReduceScatter, runAllToAll, runSend,      runReceive,
                                                  runInput,         runOutput,   runWait};
  return runners[instruction.kind()];
}
