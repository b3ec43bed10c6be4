//===- PlanOps.td - the program and the memory of its stages ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_PLAN_PLANOPS_TD
#define TGPT_DIALECTS_PLAN_PLANOPS_TD

include "dialects/dist/DistAttrs.td"
include "dialects/plan/PlanAttrs.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<PlanDialect, mnemonic, traits>;

class Plan_EnumAttr<EnumAttrInfo info, string attrMnemonic> : EnumAttr<PlanDialect, info, attrMnemonic>;

//===----------------------------------------------------------------------===//
// The program: what all ranks share.
//===----------------------------------------------------------------------===//

def Plan_ProgramOp : Plan_Op<"program", [Symbol, SymbolTable, IsolatedFromAbove, SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "everything the ranks of a run execute";
  let description = [{
    Groups and channels first, then one stage per coordinate of mesh axis "pp".
    `seed` is that of the first weights, `options` the command line that made it.

    ```mlir
    plan.program @nano mesh (dp = 2, pp = 1, tp = 1) training <sequence_length = 64, samples = 2, micro_batches = 1, vocabulary = 256, parameters = 16384, flops_per_micro_batch = 1000000, compute = f32> seed 0 options "--dp=2" {
      plan.group @dp over ["dp"]
      plan.stage 0 {
      }
    }
    ```

    Constraints:
    - C1: axis names are unique, sizes at least 1.
    - C2: there is one stage for each coordinate of "pp", in order.
    - C3: the body holds groups, channels and stages only.
    - C4: a global batch is at most what the micro-batches of all dp ranks hold.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes, DenseI64ArrayAttr:$sizes,
                       Plan_TrainingAttr:$training, I64Attr:$seed, StrAttr:$options);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{$sym_name `mesh` custom<Mesh>($axes, $sizes) `training` $training `seed` custom<Count>($seed)
    `options` $options attr-dict-with-keyword $body}];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Size of `axis`; 1 for an axis that the mesh does not have.
    int64_t sizeOf(::llvm::StringRef axis);
    bool hasAxis(::llvm::StringRef axis);
    int64_t stageCount() { return sizeOf("pp"); }
  }];
}

def Plan_GroupOp : Plan_Op<"group", [Symbol, HasParent<"::tgpt::planir::ProgramOp">]> {
  let summary = "ranks that communicate: those that differ only in these axes";
  let description = [{
    With `stages`, only these pipeline stages take part. A member's index is
    row-major over the axes as listed, the last one fastest.

    ```mlir
    plan.group @tp over ["tp"]
    plan.group @tied over ["pp"] stages [0, 3]
    ```

    Constraints:
    - C1: the axes are unique, at least one, and axes of the mesh.
    - C2: `stages` ascend, are in range and come with axis "pp".
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes, OptionalAttr<DenseI64ArrayAttr>:$stages);
  let assemblyFormat = "$sym_name `over` $axes (`stages` $stages^)? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t memberCount();
    bool hasStage(int64_t stage);
  }];
}

def Plan_ChannelOp : Plan_Op<"channel", [Symbol, HasParent<"::tgpt::planir::ProgramOp">]> {
  let summary = "a one-way, in-order queue of messages between two stages";
  let description = [{
    Joins ranks of equal other coordinates. A sender waits while `depth` messages
    are not yet received; they lie in the receiver's `plan.messages` buffers. Between two
    chunks of one stage it joins each rank to itself.

    ```mlir
    plan.channel @forward_0_to_1 from 0 to 1 depth 2 : !plan.buffer<2x64x64xf32>
    ```

    Constraints:
    - C1: the stages are in range.
    - C2: `depth` is at least 1.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$from, I64Attr:$to, I64Attr:$depth,
                       TypeAttrOf<Plan_BufferType>:$type);
  let assemblyFormat = [{$sym_name `from` custom<Count>($from) `to` custom<Count>($to) `depth` custom<Count>($depth) attr-dict
    `:` $type}];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// One stage: its memory, its segments, its schedule.
//===----------------------------------------------------------------------===//

def Plan_StageOp : Plan_Op<"stage", [HasParent<"::tgpt::planir::ProgramOp">, IsolatedFromAbove, SingleBlock, NoTerminator,
                                     NoRegionArguments]> {
  let summary = "the program of all ranks of one pipeline stage";
  let description = [{
    Ranks of a stage differ only in their mesh coordinates. `arena` is the memory of
    each, once `plan-assign-memory` has placed everything.

    ```mlir
    plan.stage 0 arena 128 {
      plan.region scratch slots 1 at 0 holds 128 live 128
      %x = plan.buffer "x" in scratch at 0 : !plan.buffer<4x8xf32>
      plan.segment begin "begin" {
        plan.kernel "fill"() -> (%x) {value = 0.000000e+00 : f64} cost <flops = 0, bytes_read = 0, bytes_written = 128> : () -> !plan.buffer<4x8xf32>
      }
      plan.schedule ["begin"]
    }
    ```

    Constraints:
    - C1: the body holds regions, buffers, variables, messages, segments and one schedule at most.
    - C2: a kind of region appears once, activations, pages and leaves once a chunk; segment names are unique.
    - C3: with an arena, every region and buffer has an offset; the last region ends where the arena ends. Regions do
      not overlap, but for the pages of several chunks, which are the same bytes, likewise leaves, regions with
      places, which all begin at one byte, and step, which may lie over activations, pages, leaves and scratch.
  }];
  let arguments = (ins I64Attr:$stage, OptionalAttr<I64Attr>:$arena_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "custom<Count>($stage) (`arena` custom<Count>($arena_bytes)^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The region of this kind (of activations, pages and leaves, that of the chunk), or null.
    RegionOp getRegionOf(MemoryKind kind, int64_t chunk = 0);
    /// The schedule, or null.
    ScheduleOp getSchedule();
  }];
}

def Plan_RegionOp : Plan_Op<"region", [HasParent<"::tgpt::planir::StageOp">]> {
  let summary = "a part of the arena for one purpose";
  let description = [{
    `slots` copies of `holds` bytes, one per micro-batch in flight for activations, of
    which each chunk of a stage has a region of its own. Pages are as activations, but
    the chunks of a stage have them in common: each has a region of the same bytes, and the
    schedule says which page a micro-batch has. Leaves are as pages, with numbers of their own,
    so that a run may have one of each. A run that finds nothing in its page and leaves nothing there has it alone. Step is
    for the segments that run once a step, at which activations, pages, leaves and scratch hold nothing. Workspace is what
    kernels have beside their operands, a buffer for each stream that runs some. With `places`, slots of activations, pages
    and leaves lie anywhere from the offset on and may share bytes at different times. `live` is the greatest sum of
    bytes live at once in a slot: what `holds` could at best be.

    ```mlir
    plan.region activations slots 2 at 4096 holds 1024 live 1000
    plan.region activations chunk 1 slots 2 at 6144 holds 1024 live 1000
    ```

    Constraints:
    - C1: `slots` is at least 1, and 1 for all but activations, pages and leaves, which alone have a `chunk` above 0.
    - C2: offset, slot bytes and live bytes are all there or none; they are not negative, `live` is at most `holds`.
    - C3: offset and slot bytes are multiples of 64.
    - C4: places, which activations, pages and leaves with an offset may have, say of each slot where it begins, a
      multiple of 64 from the offset on; without them slots follow each other.
  }];
  let arguments = (ins Plan_EnumAttr<Plan_MemoryKind, "memory_kind">:$kind, I64Attr:$slots, OptionalAttr<I64Attr>:$offset_bytes,
                       OptionalAttr<I64Attr>:$slot_bytes, OptionalAttr<I64Attr>:$peak_live_bytes,
                       DefaultValuedAttr<I64Attr, "0">:$chunk, OptionalAttr<DenseI64ArrayAttr>:$places);
  let assemblyFormat = [{`` $kind (`chunk` custom<Count>($chunk)^)? `slots` custom<Count>($slots) (`at` custom<Count>($offset_bytes)^ `holds` custom<Count>($slot_bytes)
    `live` custom<Count>($peak_live_bytes))? (`places` $places^)? attr-dict}];
  let hasVerifier = 1;
}

def Plan_BufferOp : Plan_Op<"buffer", [HasParent<"::tgpt::planir::StageOp">,
                                       DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "name bytes of a region";
  let description = [{
    The name is for people. Buffers of one region may share bytes when they are never
    live at once. A part of another buffer always lies within it, from the byte that
    `from` gives.

    ```mlir
    %x = plan.buffer "layers.0.attn.q.linear" in activations at 1024 : !plan.buffer<4x64x64xf32>
    %b = plan.buffer "zero.layers.0.gradient" in gradients at 0 : !plan.buffer<64xf32>
    %g = plan.buffer "layers.0.attn.q.weight.gradient" in gradients at 128 part of %b from 128 : !plan.buffer<4x8xf32> of !plan.buffer<64xf32>
    ```

    Constraints:
    - C1: the stage has a region of this kind (of activations, pages and leaves, of this chunk).
    - C2: the offset is a multiple of the element size, and the buffer ends within a slot of its region.
    - C3: a part ends within a buffer of its own region that is no part itself; offsets, where there are any, agree.
  }];
  let arguments = (ins StrAttr:$name, Plan_EnumAttr<Plan_MemoryKind, "memory_kind">:$region, OptionalAttr<I64Attr>:$offset_bytes,
                       Optional<Plan_BufferType>:$whole, OptionalAttr<I64Attr>:$from_byte,
                       DefaultValuedAttr<I64Attr, "0">:$chunk);
  let results = (outs Plan_BufferType:$buffer);
  let builders = [
    OpBuilder<(ins "BufferType":$type, "::llvm::StringRef":$name, "MemoryKind":$region), [{
      build($_builder, $_state, type, name, region, ::mlir::IntegerAttr(), ::mlir::Value(), ::mlir::IntegerAttr(),
            /*chunk=*/uint64_t(0));
    }]>];
  let assemblyFormat = [{$name `in` `` $region (`chunk` custom<Count>($chunk)^)? (`at` custom<Count>($offset_bytes)^)? (`part` `of` $whole^ `from` custom<Count>($from_byte))?
    attr-dict `:` type($buffer) (`of` type($whole)^)?}];
  let hasVerifier = 1;
}

def Plan_VariableOp : Plan_Op<"variable", [HasParent<"::tgpt::planir::StageOp">]> {
  let summary = "a buffer that keeps its value for the whole run";
  let description = [{
    The layout says which part of which global tensor the buffer holds, and over which
    axes ranks hold addends of it at the end of a step. A weight tied across stages
    has one `owner`.

    With `flat at i over axes` the elements of that shard lie in a flat tensor from
    element `i`, and the buffer is this rank's piece of the flat tensor, cut evenly over
    the axes; other variables have other elements of it.

    A `window` says of which tensor that users know the variable's parameter is a part, or
    how far it is padding (`dist.window`); that of a state is the one named after it.

    ```mlir
    plan.variable parameter "embed.weight" of "embed.weight" in %w layout <[tp, -], of = [256, 64]> init <value = 0.000000e+00 : f64, stddev = 2.000000e-02 : f64, key = "embed.weight"> owner : !plan.buffer<128x64xf32>
    ```

    ```mlir
    plan.variable moment1 "embed.weight.moment1" of "embed.weight" in %m flat at 4096 over ["dp"] layout <[tp, -], of = [256, 64]> init <value = 0.000000e+00 : f64> owner : !plan.buffer<1x8192xf32>
    ```

    Constraints:
    - C1: the layout has a global shape, and the buffer is the shard it describes.
    - C2: the buffer lies in the region of the role: parameters, gradients (metrics too) or optimizer (loss scaling too).
    - C3: the shard of a flat variable ends within the flat tensor, which is cut over axes of the mesh that its layout does not use.
    - C4: a window has the rank of the layout's global shape, and the variable belongs to a parameter.
  }];
  let arguments = (ins Plan_EnumAttr<Plan_VariableRole, "variable_role">:$role, StrAttr:$name, OptionalAttr<StrAttr>:$parameter,
                       Plan_BufferType:$buffer, OptionalAttr<I64Attr>:$flat_at, OptionalAttr<StrArrayAttr>:$flat_axes,
                       Dist_LayoutAttr:$layout, Plan_InitializerAttr:$init, UnitAttr:$owner,
                       OptionalAttr<Dist_WindowAttr>:$window);
  let assemblyFormat = [{`` $role $name (`of` $parameter^)? `in` $buffer (`flat` `at` custom<Count>($flat_at)^ `over` $flat_axes)?
    `layout` $layout `init` $init (`owner` $owner^)? attr-dict `:` type($buffer)}];
  let hasVerifier = 1;
}

def Plan_MessagesOp : Plan_Op<"messages", [HasParent<"::tgpt::planir::StageOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "where the messages of a channel wait to be received";
  let description = [{
    ```mlir
    plan.messages @forward_0_to_1 in %first, %second : !plan.buffer<2x64x64xf32>, !plan.buffer<2x64x64xf32>
    ```

    Constraints:
    - C1: the channel leads to this stage.
    - C2: there are `depth` buffers of the channel's type, in the communication region.
  }];
  let arguments = (ins FlatSymbolRefAttr:$channel, Variadic<Plan_BufferType>:$buffers);
  let assemblyFormat = "$channel `in` $buffers attr-dict `:` type($buffers)";
}

def Plan_SegmentOp : Plan_Op<"segment", [HasParent<"::tgpt::planir::StageOp">, SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "instructions that run in order";
  let description = [{
    Forward, backward and weight_gradient segments run once for each micro-batch, in that
    order, in one activation slot of their chunk.

    ```mlir
    plan.segment forward "forward" {
      plan.input "tokens" into %tokens : !plan.buffer<2x64xi32>
    }
    plan.segment forward "forward.1" chunk 1 {
    }
    ```

    Constraints:
    - C1: the body holds instructions only.
    - C2: events begin and end here: see `plan.wait`.
    - C3: of activations, pages and leaves, instructions use those of the segment's chunk only; a begin or update has chunk 0.
    - C4: step is used by begin and update only, which use no pages and no leaves, and no activations or scratch where there is a step region.
    - C5: a workspace is the workspace of kernels, and nothing else uses it.
  }];
  let arguments = (ins Plan_EnumAttr<Plan_SegmentKind, "segment_kind">:$kind, StrAttr:$name,
                       DefaultValuedAttr<I64Attr, "0">:$chunk);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`` $kind $name (`chunk` custom<Count>($chunk)^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Plan_ScheduleOp : Plan_Op<"schedule", [HasParent<"::tgpt::planir::StageOp">]> {
  let summary = "the order in which a step runs the segments";
  let description = [{
    `"forward" 3 in 1` runs segment "forward" on micro-batch 3 in activation slot 1 of
    its chunk, and `in 1 page 2 leaf 1` has the second page and the first leaf too; a name alone runs
    once a step. Before it stands what the pipeline does meanwhile, behind it the channels that the segment's instructions receive from and
    send to, in their order.

    ```mlir
    plan.schedule [
      "begin",
      steady "forward" 0 in 0,
      steady "backward" 0 in 0,
      "update"]
    ```

    Constraints:
    - C1: every name is a segment of the stage.
    - C2: forward, backward and weight_gradient segments have a micro-batch in range, a slot of their chunk's
      activations region, a page and a leaf of its pages and leaves, if any, and a phase; others have none.
    - C3: the phases come in the order warm_up, steady, cool_down.
    - C4: the channels are those of the segment's receives and sends.
  }];
  let arguments = (ins TypedArrayAttrBase<Plan_RunAttr, "runs of segments">:$runs);
  let assemblyFormat = "custom<Runs>($runs) attr-dict";
  let hasVerifier = 1;
}

include "dialects/plan/PlanInstructions.td"

#endif // TGPT_DIALECTS_PLAN_PLANOPS_TD
