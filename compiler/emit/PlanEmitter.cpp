//===- PlanEmitter.cpp - plan dialect to plan.proto ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all ranks share: mesh, training facts, groups, channels. Decides nothing.
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/PlanEmitter.h"
#include "compiler/emit/PlanEnums.h"
#include "compiler/emit/StageEmitter.h"
#include "runtime/plan/PlanFile.h"

using namespace mlir;
using namespace tgpt;

static void emitMesh(planir::ProgramOp program, plan::Plan &plan) {
  for (auto [name, size] : llvm::zip(program.getAxes().getAsValueRange<StringAttr>(), program.getSizes())) {
    plan::MeshAxis *axis = plan.mutable_mesh()->add_axes();
    axis->set_name(name.str());
    axis->set_size(size);
  }
}

static void emitTraining(planir::ProgramOp program, plan::Plan &plan) {
  planir::TrainingAttr facts = program.getTraining();
  plan::TrainingShape &training = *plan.mutable_training();
  training.set_sequence_length(facts.getSequenceLength());
  training.set_micro_batch_samples(facts.getSamples());
  training.set_micro_batches(facts.getMicroBatches());
  training.set_vocabulary(facts.getVocabulary());
  training.set_model_parameters(facts.getParameters());
  training.set_global_batch(facts.getGlobalBatch());
  // What fills the last micro-batches up is no work of the model's.
  int64_t dataRanks = program.sizeOf("dp") * program.sizeOf("dp_replica");
  double held = static_cast<double>(facts.getSamples() * facts.getMicroBatches() * dataRanks);
  double filled = facts.getGlobalBatch() > 0 ? static_cast<double>(facts.getGlobalBatch()) / held : 1;
  training.set_model_flops_per_step(static_cast<double>(facts.getFlopsPerMicroBatch()) *
                                    static_cast<double>(facts.getMicroBatches()) * static_cast<double>(dataRanks) *
                                    filled);
  training.set_compute_dtype(dtypeOf(facts.getCompute()));
}

static void emitGroup(planir::GroupOp group, PlanIndices &indices, plan::Plan &plan) {
  indices.groups[group.getSymName()] = plan.groups_size();
  plan::Group *made = plan.add_groups();
  for (StringRef axis : group.getAxes().getAsValueRange<StringAttr>())
    made->add_axes(axis.str());
  if (std::optional<ArrayRef<int64_t>> stages = group.getStages())
    made->mutable_stages()->Add(stages->begin(), stages->end());
}

/// The receive buffers follow with the stage that has them.
static void emitChannel(planir::ChannelOp channel, PlanIndices &indices, plan::Plan &plan) {
  indices.channels[channel.getSymName()] = plan.channels_size();
  plan::Channel *made = plan.add_channels();
  auto type = cast<planir::BufferType>(channel.getType());
  made->set_from_stage(channel.getFrom());
  made->set_to_stage(channel.getTo());
  made->set_depth(channel.getDepth());
  made->set_dtype(dtypeOf(type.getElementType()));
  made->mutable_shape()->Add(type.getShape().begin(), type.getShape().end());
}

FailureOr<plan::Plan> tgpt::emitPlan(planir::ProgramOp program, const EmitOptions &options) {
  plan::Plan plan;
  plan.set_format_version(runtime::planFormatVersion);
  plan.set_producer(options.producer);
  plan.set_model_name(options.modelName.empty() ? program.getSymName().str() : options.modelName);
  plan.set_options(options.optionsText.empty() ? program.getOptions().str() : options.optionsText);
  plan.set_seed(options.seed.value_or(program.getSeed()));
  plan.add_locations("unknown");
  emitMesh(program, plan);
  emitTraining(program, plan);
  PlanIndices indices;
  for (auto group : program.getBody().getOps<planir::GroupOp>())
    emitGroup(group, indices, plan);
  for (auto channel : program.getBody().getOps<planir::ChannelOp>())
    emitChannel(channel, indices, plan);
  for (auto stage : program.getBody().getOps<planir::StageOp>())
    if (failed(emitStage(stage, indices, plan)))
      return failure();
  return plan;
}

FailureOr<plan::Plan> tgpt::emitPlan(ModuleOp module, const EmitOptions &options) {
  SmallVector<planir::ProgramOp> programs(module.getOps<planir::ProgramOp>());
  if (programs.size() != 1)
    return module.emitError() << "has " << programs.size() << " plan programs, expected 1; 'plan-lower' makes it";
  return emitPlan(programs.front(), options);
}
