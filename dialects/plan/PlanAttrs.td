//===- PlanAttrs.td - facts of a compiled program ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_PLAN_PLANATTRS_TD
#define TGPT_DIALECTS_PLAN_PLANATTRS_TD

include "dialects/plan/PlanDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Plan_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tgpt::planir";
  let genSpecializedAttr = 0;
}

def Plan_MemoryKind : Plan_Enum<"MemoryKind", "what a part of the arena holds", [
    I32EnumAttrCase<"Parameters", 1, "parameters">, I32EnumAttrCase<"Gradients", 2, "gradients">,
    I32EnumAttrCase<"Optimizer", 3, "optimizer">, I32EnumAttrCase<"Activations", 4, "activations">,
    I32EnumAttrCase<"Scratch", 5, "scratch">, I32EnumAttrCase<"Communication", 6, "communication">,
    I32EnumAttrCase<"Pages", 7, "pages">, I32EnumAttrCase<"Step", 8, "step">,
    I32EnumAttrCase<"Leaves", 9, "leaves">, I32EnumAttrCase<"Workspace", 10, "workspace">]>;

def Plan_VariableRole : Plan_Enum<"VariableRole", "what a variable is for", [
    I32EnumAttrCase<"Parameter", 1, "parameter">, I32EnumAttrCase<"Master", 2, "master">,
    I32EnumAttrCase<"Moment1", 3, "moment1">, I32EnumAttrCase<"Moment2", 4, "moment2">,
    I32EnumAttrCase<"Gradient", 5, "gradient">, I32EnumAttrCase<"Metric", 6, "metric">,
    I32EnumAttrCase<"Scaling", 7, "scaling">]>;

def Plan_SegmentKind : Plan_Enum<"SegmentKind", "what part of a step a segment is", [
    I32EnumAttrCase<"Begin", 1, "begin">, I32EnumAttrCase<"Forward", 2, "forward">,
    I32EnumAttrCase<"Backward", 3, "backward">, I32EnumAttrCase<"Update", 4, "update">,
    I32EnumAttrCase<"WeightGradient", 5, "weight_gradient">]>;

def Plan_SchedulePhase : Plan_Enum<"SchedulePhase", "what the pipeline does meanwhile", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"WarmUp", 1, "warm_up">,
    I32EnumAttrCase<"Steady", 2, "steady">, I32EnumAttrCase<"CoolDown", 3, "cool_down">]>;

def Plan_CollectiveKind : Plan_Enum<"CollectiveKind", "how a group exchanges a buffer", [
    I32EnumAttrCase<"AllReduceSum", 0, "all_reduce_sum">, I32EnumAttrCase<"AllReduceMax", 1, "all_reduce_max">,
    I32EnumAttrCase<"AllGather", 2, "all_gather">, I32EnumAttrCase<"ReduceScatter", 3, "reduce_scatter">,
    I32EnumAttrCase<"AllToAll", 4, "all_to_all">]>;

def Plan_Stream : Plan_Enum<"Stream", "a queue of a rank, whose instructions run one after the other", [
    I32EnumAttrCase<"Compute", 0, "compute">, I32EnumAttrCase<"Tensor", 1, "tensor">,
    I32EnumAttrCase<"Data", 2, "data">]>;

def Plan_Work : Plan_Enum<"Work", "what the operations of a kernel are: which peak of a device bounds them", [
    I32EnumAttrCase<"Vector", 0, "vector">, I32EnumAttrCase<"MatrixProduct", 1, "matrix_product">,
    I32EnumAttrCase<"Attention", 2, "attention">]>;

class Plan_Attr<string name, string attrMnemonic> : AttrDef<PlanDialect, name> {
  let mnemonic = attrMnemonic;
}

def Plan_CostAttr : Plan_Attr<"Cost", "cost"> {
  let summary = "what one execution of an instruction costs";
  let description = [{
    From the cost interface of the op that the instruction came from.

    ```mlir
    #plan.cost<flops = 4096, bytes_read = 512, bytes_written = 128>
    #plan.cost<flops = 4096, bytes_read = 512, bytes_written = 128, work = matrix_product>
    ```
  }];
  let parameters = (ins "int64_t":$flops, "int64_t":$bytes_read, "int64_t":$bytes_written,
                        DefaultValuedParameter<"::tgpt::planir::Work", "::tgpt::planir::Work::Vector">:$work);
  let builders = [AttrBuilder<(ins "int64_t":$flops, "int64_t":$bytesRead, "int64_t":$bytesWritten), [{
    return $_get($_ctxt, flops, bytesRead, bytesWritten, ::tgpt::planir::Work::Vector);
  }]>];
  let assemblyFormat = "`<` struct(params) `>`";
}

def Plan_AxisOffsetAttr : Plan_Attr<"AxisOffset", "axis_offset"> {
  let summary = "an integer that differs between ranks";
  let description = [{
    `stride` times the rank's row-major index over `axes`, the last axis fastest:
    where this rank's shard begins.

    ```mlir
    #plan.axis_offset<["tp"], stride = 128>
    ```
  }];
  let parameters = (ins "::mlir::ArrayAttr":$axes, "int64_t":$stride);
  let assemblyFormat = "`<` $axes `,` `stride` `=` $stride `>`";
}

def Plan_InitializerAttr : Plan_Attr<"Initializer", "initializer"> {
  let summary = "how the values of a variable start";
  let description = [{
    `value` everywhere, or with a `key` a normal distribution around it, drawn from
    the stream of that key.

    ```mlir
    #plan.initializer<value = 0.000000e+00 : f64>
    #plan.initializer<value = 0.000000e+00 : f64, stddev = 2.000000e-02 : f64, key = "embed.weight">
    ```
  }];
  let parameters = (ins "::mlir::FloatAttr":$value, OptionalParameter<"::mlir::FloatAttr">:$stddev,
                        OptionalParameter<"::mlir::StringAttr">:$key);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isNormal() const { return getKey() != nullptr; }
  }];
}

def Plan_TrainingAttr : Plan_Attr<"Training", "training"> {
  let summary = "what a training loop must feed and may report";
  let description = [{
    `samples` is the micro-batch of one dp rank and `flops_per_micro_batch` what its
    matrix products and attention take, forward and backward, over all stages and tp
    ranks. `parameters` counts those of the model, tied weights once. `global_batch` is
    the number of samples of a step where it is smaller than what the micro-batches hold.

    ```mlir
    #plan.training<sequence_length = 64, samples = 2, micro_batches = 4, vocabulary = 256, parameters = 16384, flops_per_micro_batch = 1000000, compute = f32>
    ```
  }];
  let parameters = (ins "int64_t":$sequence_length, "int64_t":$samples, "int64_t":$micro_batches, "int64_t":$vocabulary,
                        "int64_t":$parameters, "int64_t":$flops_per_micro_batch, "::mlir::Type":$compute,
                        DefaultValuedParameter<"int64_t", "0">:$global_batch);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Plan_RunAttr : Plan_Attr<"Run", "run"> {
  let summary = "one entry of a schedule: a segment, its micro-batch, activation slot and pages";
  let description = [{
    Micro-batch -1, slot 0 and phase `none` for segments that run once a step. Pages count
    from 1; where the run has none, there is no `page`; leaves likewise. What it receives and sends are the channels of the segment's instructions, in their order.

    ```mlir
    #plan.run<"forward", micro_batch = 3, slot = 1, phase = steady, receives = [], sends = [@forward_0_to_1]>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$segment, "int64_t":$micro_batch, "int64_t":$slot,
                        EnumParameter<Plan_SchedulePhase>:$phase, "::mlir::ArrayAttr":$receives, "::mlir::ArrayAttr":$sends,
                        DefaultValuedParameter<"int64_t", "0">:$page, DefaultValuedParameter<"int64_t", "0">:$leaf);
  let assemblyFormat = [{`<` $segment `,` `micro_batch` `=` $micro_batch `,` `slot` `=` $slot `,` `phase` `=` $phase
    `,` `receives` `=` $receives `,` `sends` `=` $sends (`page` `=` $page^)?
    (`leaf` `=` $leaf^)? `>`}];
}

def Plan_BufferType : TypeDef<PlanDialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "dense row-major bytes in a rank's arena";
  let description = [{
    ```mlir
    !plan.buffer<4x64xf32>
    !plan.buffer<f32>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The buffer of a tensor type; its layout stays behind.
    static BufferType of(::mlir::RankedTensorType type);
    int64_t getElementBytes() const { return getElementType().getIntOrFloatBitWidth() / 8; }
    int64_t getBytes() const;
  }];
}

#endif // TGPT_DIALECTS_PLAN_PLANATTRS_TD
