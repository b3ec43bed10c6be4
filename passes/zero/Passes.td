//===- Passes.td - the passes of the zero phase ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_ZERO_PASSES_TD
#define TGPT_PASSES_ZERO_PASSES_TD

include "mlir/Pass/PassBase.td"

def FormBuckets : Pass<"zero-form-buckets", "::mlir::ModuleOp"> {
  let summary = "group parameters and their gradients into flat buckets";
  let description = [{
    What data-parallel ranks share out is not each tensor but a flat one that holds many
    (ZeRO, arXiv 1910.02054): one collective moves it, and any size can be cut evenly. A
    bucket holds whole layers, consecutive ones of one virtual stage while their
    gradients fit into `bucket-mib`; a parameter that several layers use has one of its
    own. All members of a bucket have one dtype, are sharded by the same axes, have
    gradients partial over the same axes and are all weight-decayed or all not. The
    last dim is padded with zeros to a multiple of "dp".

    Nothing is sharded yet: parameters and gradients are the same values as before, in
    other places. `@begin` clears a bucket at once.

    **Input** (dp = 2)
    ```mlir
    tgpt.parameter @a : tensor<3xf32, #dist.layout<[-], of = [3]>> = ...
    tgpt.parameter @b : tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>> = ...
    tgpt.state gradient @a.gradient of @a : tensor<3xf32, #dist.layout<[-], partial = [dp], of = [3]>> {transient}
    ...
    func.func @begin() ... { tgpt.write %z, @a.gradient ...  tgpt.write %z1, @b.gradient ... }
    ```
    **Output**
    ```mlir
    tgpt.bucket @zero.a.decayed.parameter of [@a, @b] at [0, 3] : tensor<8xf32, #dist.layout<[-], of = [8]>>
    tgpt.bucket @zero.a.decayed.gradient of [@a.gradient, @b.gradient] at [0, 3] : tensor<8xf32, #dist.layout<[-], partial = [dp], of = [8]>>
    func.func @begin() ... { tgpt.write %z, @zero.a.decayed.gradient ... }
    ```

    With `only-gradients` there are buckets of gradients alone (`@bucket...`), without padding.

    Under canonical reduction (tgpt-canonical-reduction) each use of a tied weight has a
    gradient of its own, and a bucket of its own. Where a rank's sum is several nodes of the
    tree (`nodes_of` of tgpt.accumulate), there is a bucket for each (`@....carry.0`).

    Fails when: there is no mesh or "dp" is 1; a gradient is not partial over "dp", so that
    there is nothing to reduce; `@begin` does something else to a gradient than clear it.
  }];
  let options = [
    Option<"bucketMib", "bucket-mib", "int64_t", "25",
           "MiB of gradients up to which consecutive layers share a bucket; 0: one bucket a layer">,
    Option<"onlyGradients", "only-gradients", "bool", "false",
           "leave parameters where they are, for sums that need no pieces (zero-reduce-buckets)">,
  ];
  let statistics = [
    Statistic<"numBuckets", "buckets", "Number of groups of parameters that share a bucket">,
    Statistic<"numMembers", "members", "Number of parameters in buckets">,
    Statistic<"numPadding", "padding-elements", "Elements of padding, local, all buckets together">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::tgpt::dist::DistDialect"];
}

def ReduceBuckets : Pass<"zero-reduce-buckets", "::mlir::ModuleOp"> {
  let summary = "sum gradients over ranks a bucket at a time";
  let description = [{
    Without ZeRO every rank needs the sum of every gradient. The update takes it for a
    bucket at once where it took it for each member, so that the number of collectives
    follows the bytes and not the parameters. Every element is the sum of the addends it
    was the sum of, in the same order.

    **Input** (dp = 2)
    ```mlir
    tgpt.bucket @bucket.a.decayed.gradient of [@a.gradient, @b.gradient] at [0, 3] : tensor<7xf32, #dist.layout<[-], partial = [dp], of = [7]>>
    ...
    %g = tgpt.read @a.gradient : tensor<3xf32, #dist.layout<[-], partial = [dp], of = [3]>>
    %0 = dist.all_reduce sum %g over ["dp"] : ...
    %h = tgpt.read @b.gradient : tensor<2x2xf32, #dist.layout<[-, -], partial = [dp], of = [2, 2]>>
    %1 = dist.all_reduce sum %h over ["dp"] : ...
    ```
    **Output**
    ```mlir
    %g = tgpt.read @bucket.a.decayed.gradient : tensor<7xf32, #dist.layout<[-], partial = [dp], of = [7]>>
    %2 = dist.all_reduce sum %g over ["dp"] : ... to tensor<7xf32, #dist.layout<[-], of = [7]>>
    %0, %1 = dist.unpack %2 at [0, 3] : ...
    ```

    Fails when: a member of a bucket of gradients is not read once in the update, or not
    summed by all_reduces that are those of the other members.
  }];
  let statistics = [
    Statistic<"numBuckets", "buckets", "Number of buckets that are summed at once">,
    Statistic<"numReplaced", "sums-replaced", "Number of gradients whose own sums they replace">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::tgpt::dist::DistDialect"];
}

def ShardOptimizer : Pass<"zero-shard-optimizer", "::mlir::ModuleOp"> {
  let summary = "let each data-parallel rank keep and update its piece of the optimizer states";
  let description = [{
    ZeRO stage 1. Moments and master copies become buckets cut into pieces over "dp". The
    update reduce-scatters the gradient bucket, takes the norm of the pieces, moves its
    piece of the parameters by AdamW and gathers the parameter bucket. That every rank
    holds another piece is in the types, so that the sums of the norm follow from the
    sharding rules.

    **Input**
    ```mlir
    %g = tgpt.read @a.gradient : tensor<3xf32, #dist.layout<[-], partial = [dp], of = [3]>>
    %1 = dist.all_reduce sum %g over ["dp"] : ...
    %2 = tgpt.sum_squares %1 : ...
    ... // for every parameter
    %s:2 = tgpt.clip_scale %norm, %count ...
    %new:3 = tgpt.adamw %a, %1, %m, %v, %s#1, ...
    ```
    **Output** (dp = 2)
    ```mlir
    tgpt.bucket @zero.a.decayed.moment1 of [@a.moment1, @b.moment1] at [0, 3] : tensor<4xf32, #dist.layout<[dp], of = [8]>>
    %g = tgpt.read @zero.a.decayed.gradient : tensor<8xf32, #dist.layout<[-], partial = [dp], of = [8]>>
    %1 = dist.reduce_scatter %g dim 0 over ["dp"] : ... to tensor<4xf32, #dist.layout<[dp], of = [8]>>
    %2 = tgpt.sum_squares %1 : ... -> tensor<f32, #dist.layout<[], partial = [dp], of = []>>
    %3 = dist.all_reduce sum %2 over ["dp"] : ...
    %s:2 = tgpt.clip_scale %3, %count ...
    %p = tgpt.read @zero.a.decayed.parameter : ...
    %4 = dist.slice %p dim 0 over ["dp"] : ...
    %new:3 = tgpt.adamw %4, %1, %m, %v, %s#1, ...
    %5 = dist.all_gather %new#0 dim 0 over ["dp"] : ...
    tgpt.write %5, @zero.a.decayed.parameter : ...
    ```
    With master copies AdamW works on their piece, and what is gathered is its cast.

    Under canonical reduction the norm is that of the whole gradients, in the order that one
    rank adds up their squares in: reduced buckets are gathered and unpacked for it, and
    `sum_squares` stays what it is.

    Fails when: there are no buckets; a parameter is not updated by one AdamW; parameters of
    a bucket are updated with different constants; there is not one clip_scale.
  }];
  let statistics = [
    Statistic<"numUpdates", "updates", "Number of AdamW steps on pieces">,
    Statistic<"numReplaced", "updates-replaced", "Number of AdamW steps on parameters that they replace">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::tgpt::dist::DistDialect"];
}

def ShardGradients : Pass<"zero-shard-gradients", "::mlir::ModuleOp"> {
  let summary = "let each data-parallel rank keep its piece of the gradients between micro-batches";
  let description = [{
    ZeRO stage 2. Gradient buckets are cut into pieces over "dp". As soon as a
    micro-batch's backward has all gradients of a bucket they are reduce-scattered, and
    the piece is added to the state. A weight that several layers use is
    reduce-scattered once for each.

    **Input** (dp = 2)
    ```mlir
    tgpt.accumulate %da, @a.gradient : tensor<3xf32, #dist.layout<[-], partial = [dp], of = [3]>>
    tgpt.accumulate %db, @b.gradient : ...
    ```
    **Output**
    ```mlir
    tgpt.bucket @zero.a.decayed.gradient of [@a.gradient, @b.gradient] at [0, 3] : tensor<4xf32, #dist.layout<[dp], of = [8]>>
    %0 = dist.pack %da, %db at [0, 3] : ... to tensor<8xf32, #dist.layout<[-], partial = [dp], of = [8]>>
    %1 = dist.reduce_scatter %0 dim 0 over ["dp"] : ... to tensor<4xf32, #dist.layout<[dp], of = [8]>>
    tgpt.accumulate %1, @zero.a.decayed.gradient : tensor<4xf32, #dist.layout<[dp], of = [8]>>
    ```
    Needs the update of zero-shard-optimizer, which then reads pieces.

    Fails when: a gradient bucket is used otherwise than zero-form-buckets and
    zero-shard-optimizer leave it; a gradient is added to more than once
    in a bucket of several; micro-batches are added in a tree (`carry`), in which they come
    before the sum over ranks.
  }];
  let statistics = [
    Statistic<"numReduceScatters", "reduce-scatters", "Number of reduce_scatters in a micro-batch">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::tgpt::dist::DistDialect"];
}

def ShardParameters : Pass<"zero-shard-parameters", "::mlir::ModuleOp"> {
  let summary = "let each data-parallel rank keep its piece of the parameters";
  let description = [{
    ZeRO stage 3. Parameter buckets are cut into pieces over "dp". Before a layer uses
    its parameters, in the forward and again in the backward, the bucket is gathered;
    the gathered copy is dead after the layer's last use of it.

    **Input** (dp = 2)
    ```mlir
    %a = tgpt.read @a : tensor<3xf32, #dist.layout<[-], of = [3]>>
    %y = tgpt.rms_norm %x, %a {tgpt.layer = 0 : i64, ...} ...
    ```
    **Output**
    ```mlir
    %0 = tgpt.read @zero.a.decayed.parameter : tensor<4xf32, #dist.layout<[dp], of = [8]>>
    %1 = dist.all_gather %0 dim 0 over ["dp"] {tgpt.layer = 0 : i64} : ... to tensor<8xf32, #dist.layout<[-], of = [8]>>
    %a = dist.unpack %1 at [0] {tgpt.layer = 0 : i64} : ... to tensor<3xf32, #dist.layout<[-], of = [3]>>
    %y = tgpt.rms_norm %x, %a {tgpt.layer = 0 : i64, ...} ...
    ```
    With `prefetch=n` it is gathered before the first op of the layer that runs n layers
    earlier in the same direction: communication may then go on beside the computation of
    n layers, whose parameters are held meanwhile.

    A bucket of several layers is gathered for each: form them with `bucket-mib=0`.
    Needs the update of zero-shard-optimizer, which then writes pieces.

    Fails when: a parameter bucket is used otherwise than zero-shard-optimizer leaves it.
  }];
  let options = [
    Option<"prefetch", "prefetch", "int64_t", "0", "Layers ahead of its use that a bucket is gathered">,
  ];
  let statistics = [
    Statistic<"numGathers", "all-gathers", "Number of all_gathers in a micro-batch">,
    Statistic<"numAhead", "all-gathers-ahead", "Number of those that stand before an earlier layer">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::tgpt::dist::DistDialect"];
}

#endif // TGPT_PASSES_ZERO_PASSES_TD
