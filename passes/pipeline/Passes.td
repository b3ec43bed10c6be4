//===- Passes.td - the passes of the pipeline phase ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_PASSES_TD
#define TGPT_PASSES_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ChooseStages : Pass<"dist-choose-stages", "::mlir::ModuleOp"> {
  let summary = "cut the model where the slowest stage is fastest and every rank's memory suffices";
  let description = [{
    Writes `dist.stages` on the module, which `dist-split-stages` carries out: the layers of
    each virtual stage, chunk by chunk. What comes before the first layer is on the first
    one, what comes after the last on the last, and both count. Of all cuts that fit it takes
    one whose slowest stage (forward and backward of a micro-batch on `device`, recomputed
    ops included, collectives where `links` are given) is fastest; of those one with the fewest virtual stages
    without layers, then one that is as even as can be, then the one with the fewest layers
    on the first stages. With `chunks` above 1 it is the best that moving single layers finds
    (passes/pipeline/StageCut.h).

    A rank holds the parameters, gradients and optimizer states of its layers, the
    activations that a micro-batch keeps for each of those in flight, scratch and messages.

    A decision that the module already has is checked and kept, unless the option gives
    another.

    **Input**: a mesh; local types; `tgpt.layer` on the ops of the micro-batch.
    ```mlir
    module {
      dist.mesh @mesh (dp = 1, pp = 3, tp = 1)
      ... // 10 layers
    }
    ```
    **Output**
    ```mlir
    module attributes {dist.stages = array<i64: 3, 4, 3>} {...}
    ```
    Remarks name the time and bytes of each stage, and a time that no cut is below: the mean
    of the stages, or the longest part.

    More virtual stages than layers are legal: some are then empty.

    Fails when: there is no mesh or micro-batch; the given layers are not one number a
    virtual stage, or do not sum to the model's layers; `chunks` is out of range or not
    that of the given layers; no cut fits the memory, or the given one does not.
  }];
  let dependentDialects = ["::tgpt::dist::DistDialect"];
  let options = [
    ListOption<"stages", "stages", "int64_t",
               "layers of each virtual stage, in their order; by default chosen">,
    Option<"chunks", "chunks", "int64_t", "1",
           "model chunks of each stage; more than 1, interleaving, shortens the time in which the pipeline fills">,
    Option<"schedule", "schedule", "std::string", "\"1f1b\"",
           "gpipe, 1f1b or zero-bubble: how many micro-batches are in flight, and what they keep">,
    Option<"microBatches", "micro-batches", "int64_t", "1",
           "micro-batches in a step, a count; by default 1, so that no more is in flight">,
    Option<"device", "device", "std::string", "",
           "a device in one line (cost/DeviceText.h); by default that of recipes/clusters/dgx-h100.yaml">,
    Option<"links", "links", "std::string", "",
           "the links between ranks in one line (cost/cluster/TopologyText.h); by default collectives take no time">,
    Option<"overlap", "overlap", "bool", "false",
           "collectives will run beside computation, and take time only as far as they are longer">,
    Option<"memoryLimitBytes", "memory-limit-bytes", "int64_t", "0",
           "bytes that a rank may need; by default 0, no limit">,
    Option<"productWorkspaceBytes", "product-workspace-bytes", "int64_t", "0",
           "bytes beside its operands that a product will be given, as plan-lower's option">,
    Option<"zero", "zero", "int64_t", "0",
           "what the ranks along dp will share out: 1 optimizer states, 2 gradients too, 3 parameters too">,
    Option<"zeroPrefetch", "zero-prefetch", "int64_t", "0",
           "layers ahead of use that stage 3 will gather parameters">,
    Option<"report", "report", "bool", "false",
           "write the costs of the cut on the module as `dist.stage_report`">,
  ];
  let statistics = [
    Statistic<"decisionsMade", "decisions-made", "cuts written on the module">,
    Statistic<"decisionsKept", "decisions-kept", "cuts that were already there">,
  ];
}

def SplitStages : Pass<"dist-split-stages", "::mlir::ModuleOp"> {
  let summary = "cut the training step into segments, one per pipeline stage and kind";
  let description = [{
    An op of the micro-batch goes to the virtual stage (stage and chunk) of its layer.
    Reads of parameters and fills are repeated in each segment that uses them. A value that
    another virtual stage uses is sent straight to it, even to another chunk of the same
    stage; what one received in its forward stays for its backward. A virtual stage without
    work has no segment.
    An op without layer stays with its operands. When the gradients of a weight used on
    several virtual stages are summed before they are added to its state, each adds its own
    to its stage's copy instead.

    Parameters and states live on the stages whose micro-batch uses them. In `@begin`
    and `@update` an op runs where the states live that it changes. A scalar that another
    stage needs is summed over "pp", the stages without it adding 0; a sum over the
    parameters of several stages likewise, each stage adding its own part, a tied
    parameter on its lowest stage only. The gradient of a tied parameter is summed over
    its stages first, so that all of them make the same update. The results of `@update`
    come from stage 0.

    **Input**: local types; `dist.stages`; functions with `tgpt.phase` "micro_batch" and
    perhaps "begin" and "update".
    ```mlir
    func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
      %0 = tgpt.gelu %x {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
      %1 = tgpt.sum_squares %0 {tgpt.layer = 2 : i64} : (tensor<4x6xf32>) -> tensor<f32>
      tgpt.accumulate %1, @loss_sum {tgpt.layer = 2 : i64} : tensor<f32>
      tgpt.begin_backward
      return
    }
    ```
    **Output**: segments, send_recvs and the return, in the order of the pipeline.
    ```mlir
    func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
      %0 = dist.segment forward stage 0 {
        %2 = tgpt.gelu %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
        dist.yield %2 : tensor<4x6xf32>
      } : tensor<4x6xf32>
      %1 = dist.send_recv %0 from 0 to 1 : tensor<4x6xf32>
      dist.segment forward stage 1 {
        %2 = tgpt.sum_squares %1 : (tensor<4x6xf32>) -> tensor<f32>
        tgpt.accumulate %2, @loss_sum : tensor<f32>
      }
      dist.segment backward stage 1 {...}
      dist.segment backward stage 0 {...}
      return
    }
    ```
    No `tgpt.layer` and no `tgpt.begin_backward` remain. Before the layers are erased the
    result is proved as `dist-verify-stages` does.

    Remarks name the values sent, kept and repeated, and for each virtual stage its layers
    and the bytes that a micro-batch keeps there from forward to backward.

    Fails when: there is no mesh, micro-batch or legal `dist.stages`; an op has a region; a
    layer number is out of range; a value flows against the pipeline; an op's stage cannot be known; the
    micro-batch reads what it changes; the update needs a tensor, not a scalar, of another
    stage.
  }];
  let dependentDialects = ["::tgpt::TgptDialect", "::tgpt::dist::DistDialect"];
  let options = [
    Option<"keepSource", "keep-source", "bool", "false",
           "leave `tgpt.layer`, and the number of each op in the source, for dist-verify-stages">,
  ];
  let statistics = [
    Statistic<"valuesSent", "values-sent", "values sent between stages in one micro-batch">,
    Statistic<"valuesSaved", "values-saved", "values kept on a stage from forward to backward">,
    Statistic<"opsRepeated", "ops-repeated", "reads and fills run again instead of kept or sent">,
    Statistic<"parametersTied", "parameters-tied", "parameters that live on several stages">,
    Statistic<"allReducesAdded", "all-reduces-added", "all_reduces over pp in begin and update">,
  ];
}

def VerifyStages : Pass<"dist-verify-stages", "::mlir::ModuleOp"> {
  let summary = "prove that the stages hold the whole model, each op once";
  let description = [{
    Of a micro-batch that `dist-split-stages{keep-source=true}` has cut: every numbered op
    of the source is in exactly one segment, an op of the forward in a forward segment, and
    each op of a layer on the virtual stage that `dist.stages` gives that layer to. So the
    layers of the stages are disjoint, in order, and together the source's.

    **Input** and **Output** are the same.
    ```mlir
    func.func @micro_batch(%x: tensor<4x6xf32>) attributes {dist.source_ops = array<i64: 1, 1>, tgpt.phase = "micro_batch"} {
      dist.segment forward stage 0 {
        %0 = tgpt.gelu %x {dist.source_op = 0 : i64, tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
      }
      return
    }
    ```

    Fails when: one of this is not so, or the numbers are not there.
  }];
  let statistics = [
    Statistic<"opsProved", "ops-proved", "ops of the source found in one segment each">,
  ];
}

def SplitWeightGradients : Pass<"dist-split-weight-gradients", "::mlir::ModuleOp"> {
  let summary = "put the gradients of weights, which nobody waits for, in segments of their own";
  let description = [{
    The ops that give gradients of parameters, and all that follows from them alone
    (reductions, casts, packs, additions to states), leave each backward for a new
    segment behind it, unless what they compute is sent or kept. Collectives and recomputed
    activations that only they need go with them where that keeps no more bytes from one
    segment to the other. Values of the backward that they use are yielded and stay in the activation slot; reads of
    parameters are repeated. Uses of a variable keep their order, so results do not
    change.

    **Input**
    ```mlir
    %1 = dist.segment backward stage 0 {
      %w = tgpt.read @w : tensor<6x8xf32>
      %dx = tgpt.linear_dgrad %dy, %w : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
      %dw = tgpt.linear_wgrad %dy, %x : (tensor<4x6xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
      tgpt.accumulate %dw, @w.gradient : tensor<6x8xf32>
      dist.yield %dx : tensor<4x8xf32>
    } : tensor<4x8xf32>
    ```
    **Output**
    ```mlir
    %1 = dist.segment backward stage 0 {
      %w = tgpt.read @w : tensor<6x8xf32>
      %dx = tgpt.linear_dgrad %dy, %w : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
      dist.yield %dx : tensor<4x8xf32>
    } : tensor<4x8xf32>
    dist.segment weight_gradient stage 0 {
      %dw = tgpt.linear_wgrad %dy, %x : (tensor<4x6xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
      tgpt.accumulate %dw, @w.gradient : tensor<6x8xf32>
    }
    ```
    A backward that has nothing else to do stays whole.

    Remarks name the bytes that each stage keeps from a backward to its weight_gradient.

    Fails when: the micro-batch has no segments, or has weight_gradients already; a
    collective of a backward is started (dist-overlap-collectives comes later).
  }];
  let dependentDialects = ["::tgpt::dist::DistDialect"];
  let statistics = [
    Statistic<"backwardsSplit", "backwards-split", "backwards that have a weight_gradient now">,
    Statistic<"backwardsWhole", "declined-whole", "backwards left whole: nothing to put off, or nothing else to do">,
    Statistic<"opsMoved", "ops-moved", "ops of the weight_gradients">,
    Statistic<"valuesKept", "values-kept", "values kept from a backward to its weight_gradient">,
  ];
}

def ScheduleStages : Pass<"dist-schedule", "::mlir::ModuleOp"> {
  let summary = "order each stage's segments over the micro-batches, and give channels their depth";
  let description = [{
    Writes a `dist.schedule` for each stage and the `depth` of each `dist.send_recv`.
    `gpipe` runs all forwards, then all backwards. `1f1b` begins with forwards that fill
    the pipeline, then does a forward and a backward in turn; with several chunks a stage
    it is interleaved (arXiv 2104.04473), for any number of micro-batches.
    `zero-bubble` (ZB-H1, arXiv 2401.10241) runs weight_gradients where a stage would wait,
    and holds no more micro-batches than 1f1b does on its fullest stage.

    A micro-batch has the lowest free slot of its chunk from its forward to its last
    entry. A channel holds the fewest messages with which no stage waits for room in unit
    times; then none waits in a circle, whatever the real times are. Earlier schedules and
    depths are replaced.

    **Input**: the segments of `dist-split-stages`, perhaps with those of
    `dist-split-weight-gradients`.
    ```mlir
    dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
    ```
    **Output**: with `kind=1f1b micro-batches=3`
    ```mlir
    dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
    dist.schedule stage 0 of 3 slots [2] warm_up ["F0@0"] steady ["F1@1", "B0@0", "F2@0", "B1@1"] cool_down ["B2@0"]
    dist.schedule stage 1 of 3 slots [1] warm_up [] steady ["F0@0", "B0@0", "F1@0", "B1@0", "F2@0", "B2@0"] cool_down []
    ```

    Fails when: a stage's chunk has a forward without a backward or the other way round, or
    two of a kind; there are weight_gradients and the kind has no place for them; an option
    is out of range.
  }];
  let dependentDialects = ["::tgpt::dist::DistDialect"];
  let options = [
    Option<"kind", "kind", "std::string", "\"1f1b\"",
           "gpipe, 1f1b or zero-bubble; by default 1f1b, which needs the least memory">,
    Option<"microBatches", "micro-batches", "int64_t", "1",
           "micro-batches in a step, a count; by default 1, which needs no slots beyond one">,
  ];
  let statistics = [
    Statistic<"entriesWritten", "entries-written", "forwards, backwards and weight_gradients in all schedules">,
    Statistic<"schedulesReplaced", "schedules-replaced", "schedules that were there before">,
    Statistic<"channelsDeepened", "channels-deepened", "channels that hold more than one message">,
  ];
}

def OverlapCollectives : Pass<"dist-overlap-collectives", "::mlir::ModuleOp"> {
  let summary = "start collectives early and wait for them late, so that computation hides them";
  let description = [{
    Within each segment a collective is started as soon as its operand is there: ops that
    the operand does not need go behind the start. It is waited for right before the first
    use of its result; a use that only adds it to a state, or writes it there, is put off
    as well. In the backward of a column-parallel linear, the sum of the input's gradient
    runs beside the product that makes the weight's gradient.

    Ops move no more than `window` places, since values live longer the further they are
    moved. Collectives of what was there before the segment (parameters, gradients, kept
    activations) could all begin at once: `prefetch` of a stream are ahead of their use,
    and they move up to `prefetch` times as far.

    Every op has the operands it had, and uses of a variable stay in order: results do not
    change.

    **Input**
    ```mlir
    %dx = tgpt.linear_dgrad %dy, %w : ...
    %dw = tgpt.linear_wgrad %dy, %x : ...
    %1 = dist.all_reduce sum %dx over ["tp"] : tensor<4x6xf32, #dist.layout<...>> to tensor<4x6xf32, #dist.layout<...>>
    %2 = tgpt.gelu_grad %1, %y : ...
    ```
    **Output**
    ```mlir
    %dx = tgpt.linear_dgrad %dy, %w : ...
    %1 = dist.all_reduce sum %dx over ["tp"] : tensor<4x6xf32, #dist.layout<...>> to !dist.pending<tensor<4x6xf32, #dist.layout<...>>>
    %dw = tgpt.linear_wgrad %dy, %x : ...
    %2 = dist.wait %1 : !dist.pending<tensor<4x6xf32, #dist.layout<...>>>
    %3 = tgpt.gelu_grad %2, %y : ...
    ```
    Left whole: collectives over "pp", those of one rank, and those that no computation
    would run beside.

    Fails when: there is no mesh; an option is below 1.
  }];
  let dependentDialects = ["::tgpt::dist::DistDialect"];
  let options = [
    Option<"window", "window", "int64_t", "32",
           "places that an op may be moved; by default about the backward of a layer">,
    Option<"prefetch", "prefetch", "int64_t", "2",
           "collectives of a stream, of what needs no computation, that may be ahead of their use; by default two, since "
           "a layer under ZeRO-3 has a bucket of norms and a bucket of the rest">,
  ];
  let statistics = [
    Statistic<"started", "started", "collectives that computation runs beside">,
    Statistic<"withoutWork", "declined-without-work", "collectives left whole: no computation is independent of them">,
    Statistic<"acrossStages", "declined-across-stages", "collectives left whole: they run over pp">,
    Statistic<"ofOneRank", "declined-of-one-rank", "collectives left whole: their group has one rank">,
  ];
}

#endif // TGPT_PASSES_PIPELINE_PASSES_TD
