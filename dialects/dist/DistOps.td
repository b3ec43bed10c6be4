//===- DistOps.td - where a value lives ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_DIST_DISTOPS_TD
#define TGPT_DIALECTS_DIST_DISTOPS_TD

include "dialects/dist/DistAttrs.td"
include "dialects/interfaces/OpKnowledge.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Dist_Op<string mnemonic, list<Trait> traits = []> : Op<DistDialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Mesh and layout: exist from `tgpt-shard` on.
//===----------------------------------------------------------------------===//

def Dist_MeshOp : Dist_Op<"mesh", [Symbol]> {
  let summary = "name the axes of the device grid";
  let description = [{
    Ranks are numbered row-major, the last axis fastest. A module has one mesh.

    ```mlir
    dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
    ```

    Constraints:
    - C1: axis names are unique and not empty.
    - C2: every size is at least 1.
    - C3: a module holds one mesh.
    - C4: there are at most 2^30 ranks.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes, DenseI64ArrayAttr:$sizes);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Size of `axis`; 1 for an axis that the mesh does not have.
    int64_t sizeOf(::llvm::StringRef axis);
    bool hasAxis(::llvm::StringRef axis);
    /// Product of the sizes of `axes`.
    int64_t sizeOf(::llvm::ArrayRef<::llvm::StringRef> axes);
    int64_t rankCount();
  }];
}

def Dist_ReshardOp : Dist_Op<"reshard", [Pure, SameOperandsAndResultShape, SameOperandsAndResultElementType]> {
  let summary = "give a value another layout";
  let description = [{
    The same global value, spread differently. Inserted by `dist-propagate` where a
    value's layout is not one its consumer can take; `dist-partition` turns it into
    the cheapest collectives, and none remains after it.

    ```mlir
    %1 = dist.reshard %0 : tensor<4x8xf32, #dist.layout<[-, -], partial = [tp]>> to tensor<4x8xf32, #dist.layout<[tp, -]>>
    ```

    Constraints:
    - C1: both types carry a layout.
    - C2: no axis becomes partial.
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($output)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

//===----------------------------------------------------------------------===//
// Collectives: on local types, after `dist-partition`.
//===----------------------------------------------------------------------===//

def Dist_TensorOrPending : AnyTypeOf<[AnyRankedTensor, Dist_PendingType], "ranked tensor or pending one">;

def Dist_Communicates : NativeOpTrait<"Communicates"> {
  let cppNamespace = "::tgpt::dist";
}

// A collective with a pending result is started there, and `dist.wait` gives the tensor.
// What is started is not to be erased or merged: it has a memory effect.
class Dist_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : Dist_Op<mnemonic, !listconcat(traits, [Dist_Communicates,
                                             DeclareOpInterfaceMethods<CostOpInterface, ["getFlops", "getBytesWritten"]>])> {
  let results = (outs Dist_TensorOrPending:$output);
  let hasVerifier = 1;
}

class Dist_PureCollectiveOp<string mnemonic>
    : Dist_CollectiveOp<mnemonic, [AlwaysSpeculatable, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]>;

def Dist_AllReduceOp : Dist_CollectiveOp<"all_reduce"> {
  let summary = "combine the addends held along mesh axes; everyone gets the whole";
  let description = [{
    With `stages`, only these pipeline stages take part and "pp" is among the axes:
    the gradient of a weight tied across stages, or a scalar that every stage needs.
    With `tree` the addends are added in a tree (runtime/kernels/api/SumTree.h), which
    ranks that hold chunks of one sum continue as one rank would have.

    ```mlir
    %1 = dist.all_reduce sum %0 over ["tp"] : tensor<4x8xf32, #dist.layout<[-, -], partial = [tp], of = [4, 8]>> to tensor<4x8xf32, #dist.layout<[-, -], of = [4, 8]>>
    ```

    What is summed over "pp" comes from `dist.stage_addend`.

    Constraints:
    - C1: the input is partial over exactly these axes among others; the result no longer is.
    - C2: shapes and element types are equal.
    - C3: `stages` are unique, in range, and come with axis "pp".
    - C4: only a sum is a `tree`, and its axes are in the order of the mesh, as the parts of the sum are.
  }];
  let arguments = (ins Dist_ReductionKindAttr:$reduction, AnyRankedTensor:$input,
                       StrArrayAttr:$axes, OptionalAttr<DenseI64ArrayAttr>:$stages, UnitAttr:$tree);
  let assemblyFormat = "`` $reduction $input `over` $axes (`stages` $stages^)? (`tree` $tree^)? attr-dict `:` type($input) `to` type($output)";
}

def Dist_AllGatherOp : Dist_PureCollectiveOp<"all_gather"> {
  let summary = "concatenate the pieces of a dim held along mesh axes";
  let description = [{
    ```mlir
    %1 = dist.all_gather %0 dim 0 over ["tp"] : tensor<2x8xf32, #dist.layout<[tp, -], of = [4, 8]>> to tensor<4x8xf32, #dist.layout<[-, -], of = [4, 8]>>
    ```

    Constraints:
    - C1: the axes are the innermost of those that shard `dim` of the input; the result's `dim` loses them.
    - C2: the result's `dim` is the input's times the product of the axes' sizes; other dims are equal.
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, StrArrayAttr:$axes);
  let assemblyFormat = "$input `dim` custom<Count>($dim) `over` $axes attr-dict `:` type($input) `to` type($output)";
}

def Dist_ReduceScatterOp : Dist_PureCollectiveOp<"reduce_scatter"> {
  let summary = "combine the addends held along mesh axes; everyone keeps one piece of a dim";
  let description = [{
    Equal to `all_reduce` then `slice`, `tree` included.

    ```mlir
    %1 = dist.reduce_scatter %0 dim 0 over ["tp"] : tensor<4x8xf32, #dist.layout<[-, -], partial = [tp], of = [4, 8]>> to tensor<2x8xf32, #dist.layout<[tp, -], of = [4, 8]>>
    ```

    Constraints:
    - C1: the input is partial (sum) over the axes; the result's `dim` is sharded over them, innermost.
    - C2: the result's `dim` is the input's divided by the product of the axes' sizes; other dims are equal.
    - C3: the axes of a `tree` are in the order of the mesh.
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, StrArrayAttr:$axes, UnitAttr:$tree);
  let assemblyFormat = [{$input `dim` custom<Count>($dim) `over` $axes (`tree` $tree^)? attr-dict
    `:` type($input) `to` type($output)}];
}

def Dist_AllToAllOp : Dist_PureCollectiveOp<"all_to_all"> {
  let summary = "move the sharding from one dim to another";
  let description = [{
    Equal to `all_gather` of `concat` then `slice` of `split`.

    ```mlir
    %1 = dist.all_to_all %0 split 1 concat 0 over ["tp"] : tensor<2x8xf32, #dist.layout<[tp, -], of = [4, 8]>> to tensor<4x4xf32, #dist.layout<[-, tp], of = [4, 8]>>
    ```

    Constraints:
    - C1: the axes shard `concat` of the input (innermost) and `split` of the result (innermost).
    - C2: shapes follow; `split` and `concat` differ.
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$split, I64Attr:$concat, StrArrayAttr:$axes);
  let assemblyFormat = [{$input `split` custom<Count>($split) `concat` custom<Count>($concat) `over` $axes attr-dict
    `:` type($input) `to` type($output)}];
}

def Dist_WaitOp : Dist_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>,
    TypesMatchWith<"the result is the tensor that is pending", "pending", "output",
                   "::llvm::cast<::tgpt::dist::PendingType>($_self).getTensor()">]> {
  let summary = "wait until a started collective has ended, and take its result";
  let description = [{
    From the collective to the wait its operand must not change, and its result is not
    there: what is in between runs meanwhile. `dist-overlap-collectives` makes both.

    ```mlir
    // args: %0: tensor<4x8xf32, #dist.layout<[-, -], partial = [tp], of = [4, 8]>>
    %1 = dist.all_reduce sum %0 over ["tp"] : tensor<4x8xf32, #dist.layout<[-, -], partial = [tp], of = [4, 8]>> to !dist.pending<tensor<4x8xf32, #dist.layout<[-, -], of = [4, 8]>>>
    %2 = dist.wait %1 : !dist.pending<tensor<4x8xf32, #dist.layout<[-, -], of = [4, 8]>>>
    ```

    Constraints:
    - C1: the operand comes from a collective in the same block, of which it is the only use.
    - C2: that collective does not run over "pp": stages differ in what they run beside it.
  }];
  let arguments = (ins Dist_PendingType:$pending);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$pending attr-dict `:` type($pending)";
  let hasVerifier = 1;
}

def Dist_SliceOp : Dist_Op<"slice",
    [Pure, DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
     DeclareOpInterfaceMethods<KernelOpInterface, ["getKernelAttributes", "getShardOffsets"]>]> {
  let summary = "keep this rank's piece of a replicated dim (no communication)";
  let description = [{
    ```mlir
    %1 = dist.slice %0 dim 0 over ["tp"] : tensor<4x8xf32, #dist.layout<[-, -], of = [4, 8]>> to tensor<2x8xf32, #dist.layout<[tp, -], of = [4, 8]>>
    ```

    Constraints:
    - C1: the input is replicated over the axes; the result's `dim` is sharded over them, innermost.
    - C2: shapes follow.
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, StrArrayAttr:$axes);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input `dim` custom<Count>($dim) `over` $axes attr-dict `:` type($input) `to` type($output)";
  let hasVerifier = 1;
}

def Dist_StackNodesOp : Dist_Op<"stack_nodes",
    [Pure, DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>, DeclareOpInterfaceMethods<KernelOpInterface>]> {
  let summary = "the addends of ranks, side by side in a dim";
  let description = [{
    The operands of a rank are nodes of its part of a sum (tgpt.join_nodes). They become
    the rows of a first dim, which the ranks share out: what was a partial sum is a
    whole tensor of addends, to be moved and summed (tgpt.sum_nodes) like any other.

    ```mlir
    // args: %a: tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>, %b: tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>
    %rows = dist.stack_nodes %a, %b over ["tp"] : tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>, tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>> to tensor<2x4xf32, #dist.layout<[tp, -], of = [4, 4]>>
    ```

    Constraints:
    - C1: the operands have one type, which is partial (sum) over the axes; these are in the order of the mesh.
    - C2: the result has a first dim with an entry an operand, sharded over the axes, and the operands' dims.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, StrArrayAttr:$axes);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$inputs `over` $axes attr-dict `:` type($inputs) `to` type($output)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Flat tensors: many local tensors in one, so that one collective moves them all.
//===----------------------------------------------------------------------===//

def Dist_PackOp : Dist_Op<"pack", [Pure]> {
  let summary = "lay local tensors side by side in a flat one";
  let description = [{
    The local elements of each operand, row-major, fill the last dim of the result from
    the element that `at` gives; what lies between is zero. Where the operands are
    sharded the result has a first dim with an entry for each shard. The plan computes
    the operands where they are to lie.

    ```mlir
    // args: %0: tensor<2x8xf32, #dist.layout<[tp, -], partial = [dp], of = [4, 8]>>, %1: tensor<8x2xf32, #dist.layout<[-, tp], partial = [dp], of = [8, 4]>>
    %2 = dist.pack %0, %1 at [0, 16] : tensor<2x8xf32, #dist.layout<[tp, -], partial = [dp], of = [4, 8]>>, tensor<8x2xf32, #dist.layout<[-, tp], partial = [dp], of = [8, 4]>> to tensor<1x32xf32, #dist.layout<[tp, -], partial = [dp], of = [2, 32]>>
    ```

    Constraints:
    - C1: types are local and of one element type.
    - C2: there is an offset for each operand; operands do not overlap and end within the last dim.
    - C3: the dims before the last are one, sharded by the axes that shard every operand, or none where they are whole.
    - C4: all are partial over the same axes.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, DenseI64ArrayAttr:$offsets);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$inputs `at` $offsets attr-dict `:` type($inputs) `to` type($output)";
  let hasVerifier = 1;
}

def Dist_UnpackOp : Dist_Op<"unpack", [Pure]> {
  let summary = "the local tensors that lie side by side in a flat one";
  let description = [{
    The inverse of `dist.pack`. The plan moves nothing: the results are parts of the operand.

    ```mlir
    // args: %0: tensor<1x32xf32, #dist.layout<[tp, -], of = [2, 32]>>
    %1, %2 = dist.unpack %0 at [0, 16] : tensor<1x32xf32, #dist.layout<[tp, -], of = [2, 32]>> to tensor<2x8xf32, #dist.layout<[tp, -], of = [4, 8]>>, tensor<8x2xf32, #dist.layout<[-, tp], of = [8, 4]>>
    ```

    Constraints:
    - C1: types are local and of one element type.
    - C2: there is an offset for each result; results do not overlap and end within the last dim.
    - C3: the dims before the last are one, sharded by the axes that shard every result, or none where they are whole.
    - C4: all are partial over the same axes.
  }];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$offsets);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = "$input `at` $offsets attr-dict `:` type($input) `to` type($outputs)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Pipeline: after `dist-split-stages`.
//===----------------------------------------------------------------------===//

def Dist_SegmentOp : Dist_Op<"segment", [SingleBlockImplicitTerminator<"::tgpt::dist::YieldOp">, RecursiveMemoryEffects, AutomaticAllocationScope]> {
  let summary = "what one pipeline stage runs for one phase of a step";
  let description = [{
    Ops inside run on the ranks of `stage`. With interleaving a stage has several model
    chunks, each with segments of its own: chunk `c` of stage `s` is virtual stage
    `c * pp + s`, and the model's layers are cut into virtual stages in that order.

    Values of an earlier segment of the same stage and chunk may be used directly: they
    stay in memory (saved activations). Values of another stage or chunk come through
    `dist.send_recv`. A `weight_gradient` is what a backward leaves for later: work whose
    results nobody waits for.

    ```mlir
    %h = dist.segment forward stage 0 {
      %0 = tgpt.gelu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
      dist.yield %0 : tensor<4x8xf32>
    } : tensor<4x8xf32>
    dist.segment backward stage 0 chunk 1 {
    }
    ```

    Constraints:
    - C1: `stage` is in the range of mesh axis "pp"; `chunk` is 0 to 4095, and 0 for begin and update.
    - C2: a value from another segment belongs to the same stage and chunk and to an earlier kind (forward,
      backward, weight_gradient), or comes from a `send_recv` to this stage and chunk.
    - C3: the yielded types are the result types.
  }];
  let arguments = (ins Dist_SegmentKindAttr:$kind, I64Attr:$stage, DefaultValuedAttr<I64Attr, "0">:$chunk);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Dist_YieldOp : Dist_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["::tgpt::dist::SegmentOp"]>]> {
  let summary = "end a segment and name the values that leave it";
  let description = [{
    ```mlir
    dist.yield %0 : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Dist_StageAddendOp : Dist_Op<"stage_addend", [Pure, SameOperandsAndResultShape, SameOperandsAndResultElementType]> {
  let summary = "say that the true value is the sum of what the stages hold";
  let description = [{
    A value lives on the ranks of one stage, so its layout cannot know of others. Where
    each stage has an addend of its own (the gradient of a weight tied across stages, a
    stage's part of the gradient norm, or 0 where it has no part) this op says so: its
    result is partial over "pp" and of no use before a `dist.all_reduce` over "pp" has
    summed it. `dist-split-stages` makes both; `plan-lower` writes nothing for this op.

    ```mlir
    %1 = dist.stage_addend %0 : tensor<f32, #dist.layout<[], of = []>> to tensor<f32, #dist.layout<[], partial = [pp], of = []>>
    ```

    Constraints:
    - C1: both types are local, and the mesh has an axis "pp".
    - C2: the result has the operand's layout but is partial over "pp" too, as a sum.
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($output)";
  let hasVerifier = 1;
}

def Dist_SendRecvOp : Dist_Op<"send_recv", [AllTypesMatch<["input", "output"]>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>]> {
  let summary = "move a value to another pipeline stage";
  let description = [{
    Every rank of stage `from` sends its shard to the rank of stage `to` with the
    same other coordinates. The plan holds it as a send at the end of the producing
    segment and a receive at the start of the consuming one. Between two chunks of one
    stage it is a message that a rank sends itself. `depth` messages may be on the way
    before the sender waits; without it, or 1: one.

    ```mlir
    // args: %x: tensor<4x8xf32>
    %0 = dist.segment forward stage 0 {
      %h = tgpt.gelu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
      dist.yield %h : tensor<4x8xf32>
    } : tensor<4x8xf32>
    %1 = dist.send_recv %0 from 0 to 1 : tensor<4x8xf32>
    %2 = dist.send_recv %0 from 0 to 1 chunk 2 depth 3 : tensor<4x8xf32>
    ```

    Constraints:
    - C1: stage and chunk differ from `from` to `to`; stages are in the range of mesh axis "pp", chunks 0 to 4095.
    - C2: the operand comes from a forward or backward segment of the stage and chunk that sends.
    - C3: `depth` is at least 1.
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$from, I64Attr:$to, DefaultValuedAttr<I64Attr, "0">:$from_chunk,
                       DefaultValuedAttr<I64Attr, "0">:$to_chunk, OptionalAttr<I64Attr>:$depth);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = [{$input `from` custom<VirtualStage>($from, $from_chunk) `to` custom<VirtualStage>($to, $to_chunk)
    (`depth` custom<Count>($depth)^)? attr-dict `:` type($input)}];
  let hasVerifier = 1;
}

def Dist_ScheduleOp : Dist_Op<"schedule", []> {
  let summary = "the order in which a stage runs its segments over the micro-batches";
  let description = [{
    `F3@1` is the forward of micro-batch 3 in activation slot 1, `B3@1` its backward,
    `W3@1` its weight_gradient; `F3.2@1` is that of chunk 2, which has slots of its own.
    The entries run in the order warm_up, steady, cool_down: while the pipeline fills,
    is full, and empties. The begin and update segments run before the first and after
    the last entry. `slots` has the number of activation slots of each chunk; a chunk
    without work on this stage has none, and no entries.

    ```mlir
    dist.schedule stage 0 of 4 slots [2] warm_up ["F0@0"] steady ["F1@1", "B0@0", "F2@0", "B1@1", "F3@1", "B2@0"] cool_down ["B3@1"]
    dist.schedule stage 0 of 1 slots [1, 1] warm_up ["F0@0", "F0.1@0"] steady [] cool_down ["B0.1@0", "W0.1@0", "B0@0", "W0@0"]
    ```

    Constraints:
    - C1: with a chunk that has entries every micro-batch has one forward, one later backward and, where the chunk has
      weight_gradients, one of these after that, all in the same slot.
    - C2: no slot is reused while its micro-batch is in flight; slots are 0 to the chunk's number of slots - 1.
    - C3: there is a number of slots for each chunk, at most the micro-batches, and 0 where it has no entries.
  }];
  let arguments = (ins I64Attr:$stage, I64Attr:$micro_batches, DenseI64ArrayAttr:$slots, StrArrayAttr:$warm_up,
                       StrArrayAttr:$steady, StrArrayAttr:$cool_down);
  let assemblyFormat = [{`stage` custom<Count>($stage) `of` custom<Count>($micro_batches) `slots` $slots `warm_up` $warm_up
    `steady` $steady `cool_down` $cool_down attr-dict}];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Warm-up, steady and cool-down: the lists of entries in the order in which they run.
    ::std::array<::mlir::ArrayAttr, 3> getLists() { return {getWarmUp(), getSteady(), getCoolDown()}; }
    int64_t countChunks() { return getSlots().size(); }
  }];
}

#endif // TGPT_DIALECTS_DIST_DISTOPS_TD
