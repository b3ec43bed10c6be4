//===- Passes.td - the passes of the sharding phase ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_SHARDING_PASSES_TD
#define TGPT_PASSES_SHARDING_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitLoss : Pass<"tgpt-split-loss", "::mlir::ModuleOp"> {
  let summary = "write the cross-entropy as steps that may be sharded over the vocabulary";
  let description = [{
    Cuts the vocabulary into `parts` equal parts, or the most below that divide it.

    **Input**
    ```mlir
    %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (tensor<4x6x10xf32>, tensor<4x6xi32>) -> ...
    ```
    **Output** (`parts` = 2)
    ```mlir
    %statistics = tgpt.loss_statistics %logits, %labels : ... -> tensor<2x2x4x6xf32>
    %loss, %count, %lse = tgpt.token_loss %labels, %statistics : ...
    ```
    Only run where the vocabulary is to be sharded, or one rank must add as ranks that
    share it do. With as many parts as ranks share the vocabulary an all_gather moves the
    fewest numbers; where bits must not depend on the grid, every grid has the same parts.

    Fails when there is not one part at least.
  }];
  let options = [
    Option<"parts", "parts", "int64_t", "1", "Parts of the vocabulary whose statistics are apart">,
  ];
  let statistics = [
    Statistic<"numSplit", "losses-split", "Number of cross-entropies written as steps">,
    Statistic<"numKept", "backwards-kept", "Number of cross-entropy backwards left as they are: local in any shard">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect"];
}

def Shard : Pass<"tgpt-shard", "::mlir::ModuleOp"> {
  let summary = "decide how parameters and inputs are spread over the mesh";
  let description = [{
    Adds the mesh and writes decisions as attributes (`dist.layout`) on parameters,
    function arguments and, under sequence parallelism, on the embedding and on the
    row-parallel linears that lost a bias; nothing is sharded yet. A parameter that has
    a decision already keeps it.

    Linears alternate: one whose input is whole is column-parallel (its output
    features are sharded), one whose input has sharded features is row-parallel.
    Embedding and head are sharded over the vocabulary. The bias of a row-parallel
    linear becomes an add of its own: it must come after the reduction.

    **Input**
    ```mlir
    tgpt.parameter @up.weight : tensor<16x4xf32> = ...
    tgpt.parameter @down.weight : tensor<4x16xf32> = ...
    ```
    **Output** (`tp=2`)
    ```mlir
    dist.mesh @mesh (dp = 1, pp = 1, tp = 2)
    tgpt.parameter @up.weight : tensor<16x4xf32> = ... {dist.layout = #dist.layout<[tp, -]>}
    tgpt.parameter @down.weight : tensor<4x16xf32> = ... {dist.layout = #dist.layout<[-, tp]>}
    ```
    Where `tp` is a multiple of the KV heads, the mesh has `tp` ranks on two axes: "tp",
    an index a KV head, and "tp_inner", the ranks that share it. All that is sharded is
    sharded over both, but for k and v, which are replicated over "tp_inner":
    ```mlir
    dist.mesh @mesh (dp = 1, pp = 1, tp = 2, tp_inner = 2)                                           // tp=4, 2 KV heads
    tgpt.parameter @q.weight : tensor<64x64xf32> = ... {dist.layout = #dist.layout<[{tp, tp_inner}, -]>}
    tgpt.parameter @k.weight : tensor<16x64xf32> = ... {dist.layout = #dist.layout<[tp, -]>}
    ```
    One KV head for all is replicated over "tp".

    Fails when heads, features, vocabulary or (under `sequence-parallel`) the sequence are
    not divisible by `tp`, or KV heads neither divisible by it nor a divisor of it; the
    message names the nearest legal value.
  }];
  let options = [
    Option<"dp", "dp", "int64_t", "1", "Data-parallel ranks; with replicas those of each">,
    Option<"dpReplicas", "dp-replicas", "int64_t", "1", "Size of mesh axis dp_replica, outside dp: samples are dealt out over both, ZeRO shares out over dp alone">,
    Option<"pp", "pp", "int64_t", "1", "Pipeline stages">,
    Option<"tp", "tp", "int64_t", "1", "Tensor-parallel ranks">,
    Option<"sequenceParallel", "sequence-parallel", "bool", "false", "Shard the sequence over tp between tensor-parallel regions">,
    ListOption<"axisOrder", "axis-order", "std::string", "How ranks are numbered: dp, pp and tp from the outside in, the ranks of the last being neighbours (default dp,pp,tp)">,
  ];
  let statistics = [
    Statistic<"numColumn", "column-parallel", "Number of column-parallel linears">,
    Statistic<"numRow", "row-parallel", "Number of row-parallel linears">,
    Statistic<"numBiasesSplit", "biases-split", "Number of biases moved behind the reduction">,
    Statistic<"numReplicated", "parameters-replicated", "Number of parameters left whole">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::tgpt::dist::DistDialect"];
}

def Propagate : Pass<"dist-propagate", "::mlir::ModuleOp"> {
  let summary = "carry the layouts to every value, backward included";
  let description = [{
    Turns the decisions of `tgpt-shard` into types. Each op takes the axes that its
    operands offer where its sharding rule allows it; parameters come before
    activations, and a gradient has the layout of its parameter. Where a value's
    layout is not the one its consumer takes, a `dist.reshard` says so.

    **Input**
    ```mlir
    %y = tgpt.linear %x, %w : (tensor<2x8x16xf32>, tensor<4x16xf32>) -> tensor<2x8x4xf32>
    %z = tgpt.add %r, %y : ...
    ```
    **Output**
    ```mlir
    %y = tgpt.linear %x, %w : (tensor<2x8x16xf32, #dist.layout<[dp, -, tp]>>, tensor<4x16xf32, #dist.layout<[-, tp]>>)
         -> tensor<2x8x4xf32, #dist.layout<[dp, -, -], partial = [tp]>>
    %1 = dist.reshard %y : ... to tensor<2x8x4xf32, #dist.layout<[dp, -, -]>>
    %z = tgpt.add %r, %1 : ...
    ```
    Fails when the module has no mesh or an op has no sharding rule.
  }];
  let statistics = [
    Statistic<"numReshards", "reshards-inserted", "Number of dist.reshard inserted">,
    Statistic<"numShared", "reshards-shared", "Number of uses served by a reshard made for an earlier use">,
    Statistic<"numClaimsDeclined", "claims-declined", "Number of axes an operand offered and the op could not take">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::tgpt::dist::DistDialect"];
}

def ChunkReductions : Pass<"dist-chunk-reductions", "::mlir::ModuleOp"> {
  let summary = "cut every sum into chunks that no grid changes";
  let description = [{
    In a module whose `tgpt.reduction` is "canonical", an op with a sum gets the
    attribute `tgpt.chunks`: the dim that a grid may shard is cut into `chunks` parts (or
    the most below that divide it) of the whole tensor, a batch into samples. Kernels add
    each chunk by itself and the chunks in a tree; a rank that holds some of them computes
    a sum that the whole sum contains. Other modules stay as they are.

    **Input**
    ```mlir
    %y = tgpt.linear %x, %w : (tensor<2x8x64xf32, #dist.layout<[dp, -, tp]>>, ...) -> ...
    ```
    **Output**
    ```mlir
    %y = tgpt.linear %x, %w {tgpt.chunks = #tgpt.chunks<count = 8, operand = 0, dim = 2>} : ...
    ```
    Where the chunks on a rank are no power of two, they are several nodes of the tree: the
    op is written once for each (`tgpt.node`), and `tgpt.join_nodes` takes the nodes for the
    partial sum.

    Fails when an op sums but does not say how its sum may be cut, when the mesh shards
    a part of a sum that is not cut, or when what micro-batches add up is partial over an
    axis other than dp.
  }];
  let options = [
    Option<"chunks", "chunks", "int64_t", "8", "Chunks of a dim that tensor parallelism may shard">,
  ];
  let statistics = [
    Statistic<"numChunked", "sums-chunked", "Number of ops whose sum is cut">,
    Statistic<"numNodes", "nodes", "Number of ops that add up one of several nodes of their rank">,
    Statistic<"numExact", "sums-exact", "Number of ops whose sum is the same in any order">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::tgpt::dist::DistDialect"];
}

def Partition : Pass<"dist-partition", "::mlir::ModuleOp"> {
  let summary = "turn global tensors into one rank's shards and reshards into collectives";
  let description = [{
    Types become local and keep the global shape in their layout (`of`) as a claim,
    so that the result is checked like the input. A `dist.reshard` becomes the
    collectives that move the fewest bytes. Axes of size 1 leave the layouts.

    **Input** (`tp` = 2)
    ```mlir
    %1 = dist.reshard %0 : tensor<4x8xf32, #dist.layout<[-, -], partial = [tp]>> to tensor<4x8xf32, #dist.layout<[tp, -]>>
    ```
    **Output**
    ```mlir
    %1 = dist.reduce_scatter %0 dim 0 over ["tp"] : tensor<4x8xf32, #dist.layout<[-, -], partial = [tp], of = [4, 8]>>
         to tensor<2x8xf32, #dist.layout<[tp, -], of = [4, 8]>>
    ```
    Fails when an axis does not divide the dim that it shards; the message names the
    nearest legal size.
  }];
  let statistics = [
    Statistic<"numAllReduces", "all-reduces", "Number of all_reduces written">,
    Statistic<"numReduceScatters", "reduce-scatters", "Number of reduce_scatters written">,
    Statistic<"numAllGathers", "all-gathers", "Number of all_gathers written">,
    Statistic<"numAllToAlls", "all-to-alls", "Number of all_to_alls written">,
    Statistic<"numSlices", "slices", "Number of slices written">,
    Statistic<"numFree", "reshards-free", "Number of reshards that needed nothing">,
  ];
  let dependentDialects = ["::tgpt::dist::DistDialect"];
}

def ExchangeNodes : Pass<"dist-exchange-nodes", "::mlir::ModuleOp"> {
  let summary = "add up nodes of ranks where all of them meet";
  let description = [{
    A sum over ranks each of which has several nodes of the tree (tgpt.join_nodes) is no
    all_reduce or reduce_scatter. The nodes are stacked, moved as whole values, and added
    in the tree by whoever needs the sum: a piece of it a rank, which an all_reduce
    gathers afterwards. What no rank can be given a piece of is gathered first.

    **Input** (`tp` = 2)
    ```mlir
    %y = tgpt.join_nodes %a, %b addends 3 : tensor<2x8xf32, #dist.layout<[-, -], partial = [tp], of = [2, 8]>>
    %1 = dist.reduce_scatter %y dim 1 over ["tp"] tree : ...
    ```
    **Output**
    ```mlir
    %0 = dist.stack_nodes %a, %b over ["tp"] : ... to tensor<2x2x8xf32, #dist.layout<[tp, -, -], of = [4, 2, 8]>>
    %2 = dist.all_to_all %0 split 2 concat 0 over ["tp"] : ... to tensor<4x2x4xf32, #dist.layout<[-, -, tp], of = [4, 2, 8]>>
    %1 = tgpt.sum_nodes %2 {addends = 3, nodes = 2} : ... -> tensor<2x4xf32, #dist.layout<[-, tp], of = [2, 8]>>
    ```
    Nodes of one rank alone are added from the right. Relies on local types; leaves no
    tgpt.join_nodes. Fails when the nodes are not those of the ranks that are summed over.
  }];
  let statistics = [
    Statistic<"numScattered", "sums-scattered", "Number of sums of nodes taken a piece a rank">,
    Statistic<"numGathered", "sums-gathered", "Number of sums of nodes taken by every rank">,
    Statistic<"numOfOneRank", "sums-of-one-rank", "Number of lists of nodes that need no other rank">,
  ];
  let dependentDialects = ["::tgpt::TgptDialect", "::tgpt::dist::DistDialect"];
}

def VerifyPartitioned : Pass<"dist-verify-partitioned", "::mlir::ModuleOp"> {
  let summary = "check the end of the sharding phase";
  let description = [{
    There is a mesh, no `dist.reshard`, every tensor type is local and says of which
    global tensor, and every op satisfies its sharding rule. Changes nothing.
  }];
}

#endif // TGPT_PASSES_SHARDING_PASSES_TD
