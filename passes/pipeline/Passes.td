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
  let summary = "decide how many layers each pipeline stage has, as evenly as it can be";
  let description = [{
    Writes `dist.stages` on the module, which `dist-split-stages` carries out. Each of
    the `pp` stages gets layers / pp; layers left over go one each to the inner stages,
    first to last, then to the first. The last stage gets none of them: it has the head
    and the loss. With `chunks` above 1 that many virtual stages a stage are cut likewise,
    in the order chunk by chunk. A decision that the module already has is checked and
    kept, unless the option gives another.

    **Input**: a mesh; `tgpt.layer` on the ops of the micro-batch.
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

    More virtual stages than layers are legal: some are then empty.

    Fails when: there is no mesh or micro-batch; the given layers are not one number a
    virtual stage, or do not sum to the model's layers; `chunks` is out of range or not
    that of the given layers.
  }];
  let dependentDialects = ["::tgpt::dist::DistDialect"];
  let options = [
    ListOption<"stages", "stages", "int64_t",
               "layers of each virtual stage, in their order; by default as even as can be">,
    Option<"chunks", "chunks", "int64_t", "1",
           "model chunks of each stage; more than 1, interleaving, shortens the time in which the pipeline fills">,
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
    No `tgpt.layer` and no `tgpt.begin_backward` remain.

    Remarks name the values sent, kept and repeated, and for each virtual stage its layers
    and the bytes that a micro-batch keeps there from forward to backward.

    Fails when: there is no mesh, micro-batch or legal `dist.stages`; an op has a region; a
    layer number is out of range; a value flows against the pipeline; an op's stage cannot be known; the
    micro-batch reads what it changes; the update needs a tensor, not a scalar, of another
    stage.
  }];
  let dependentDialects = ["::tgpt::TgptDialect", "::tgpt::dist::DistDialect"];
  let statistics = [
    Statistic<"valuesSent", "values-sent", "values sent between stages in one micro-batch">,
    Statistic<"valuesSaved", "values-saved", "values kept on a stage from forward to backward">,
    Statistic<"opsRepeated", "ops-repeated", "reads and fills run again instead of kept or sent">,
    Statistic<"parametersTied", "parameters-tied", "parameters that live on several stages">,
    Statistic<"allReducesAdded", "all-reduces-added", "all_reduces over pp in begin and update">,
  ];
}

def ScheduleOneForwardOneBackward : Pass<"dist-schedule-1f1b", "::mlir::ModuleOp"> {
  let summary = "order each stage's segments by one-forward-one-backward";
  let description = [{
    Stage `s` of `pp` runs min(m, pp - s - 1) forwards to fill the pipeline, then a forward
    and a backward in turn, then the remaining backwards (PipeDream-Flush, arXiv
    2006.09503). It has min(m, pp - s) activation slots; micro-batch `i` uses slot `i`
    modulo that. Earlier schedules are replaced.

    **Input**: the segments of `dist-split-stages`.
    ```mlir
    dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
    ```
    **Output**: with `micro-batches=3`
    ```mlir
    dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
    dist.schedule stage 0 of 3 slots [2] warm_up ["F0@0"] steady ["F1@1", "B0@0", "F2@0", "B1@1"] cool_down ["B2@0"]
    dist.schedule stage 1 of 3 slots [1] warm_up [] steady ["F0@0", "B0@0", "F1@0", "B1@0", "F2@0", "B2@0"] cool_down []
    ```

    Fails when: the micro-batch has not one forward and one backward segment a stage;
    `micro-batches` is out of range.
  }];
  let dependentDialects = ["::tgpt::dist::DistDialect"];
  let options = [
    Option<"microBatches", "micro-batches", "int64_t", "1",
           "micro-batches in a step, a count; by default 1, which needs no slots beyond one">,
  ];
  let statistics = [
    Statistic<"entriesWritten", "entries-written", "forwards and backwards in all schedules">,
    Statistic<"schedulesReplaced", "schedules-replaced", "schedules that were there before">,
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
