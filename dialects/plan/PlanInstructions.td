//===- PlanInstructions.td - what a segment executes ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions read and write buffers in program order. Each keeps the location of
// the op it was made from, which names the line of the model.
//
// `plan.layouts` and `plan.values` on an instruction (Plan.h) say of each input, then of
// each output, how the value is spread over the ranks and which value it is: a number of
// its own, or 0 for what a variable holds. The checker of plans follows them.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_PLAN_PLANINSTRUCTIONS_TD
#define TGPT_DIALECTS_PLAN_PLANINSTRUCTIONS_TD

class Plan_Instruction<string mnemonic, list<Trait> traits = []>
    : Plan_Op<mnemonic, !listconcat(traits, [HasParent<"::tgpt::planir::SegmentOp">])>;

def Plan_KernelOp : Plan_Instruction<"kernel", [AttrSizedOperandSegments]> {
  let summary = "call a kernel of the catalogue";
  let description = [{
    The opcode, operand order and scalars are those of runtime/kernels/KERNELS.md. A
    scalar that differs between ranks is an axis offset. An output may be the buffer
    of an input where the catalogue allows it. The workspace is what kernels of a device
    may write while they run: those of one stream run one after the other and share it.

    ```mlir
    plan.kernel "embedding"(%tokens, %table) -> (%x) {vocab_offset = #plan.axis_offset<["tp"], stride = 128>} cost <flops = 0, bytes_read = 33280, bytes_written = 32768> : (!plan.buffer<2x64xi32>, !plan.buffer<128x64xf32>) -> !plan.buffer<2x64x64xf32>
    ```

    Constraints:
    - C1: the opcode is not empty and there is an output.
    - C2: scalars are integers, floats, bools, strings or axis offsets.
    - C3: outputs are different buffers.
    - C4: the workspace lies in the region of workspaces.
  }];
  let arguments = (ins StrAttr:$opcode, Variadic<Plan_BufferType>:$inputs, Variadic<Plan_BufferType>:$outputs,
                       Optional<Plan_BufferType>:$workspace, DictionaryAttr:$scalars, Plan_CostAttr:$cost);
  let assemblyFormat = [{$opcode `(` $inputs `)` `->` `(` $outputs `)` $scalars (`workspace` $workspace^ `:` type($workspace))?
    `cost` $cost attr-dict `:` functional-type($inputs, $outputs)}];
  let hasVerifier = 1;
}

def Plan_CollectiveOp : Plan_Instruction<"collective", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "exchange a buffer within a group";
  let description = [{
    Gathers and scatters go along `dim`; an all_to_all splits along `dim` and
    concatenates along `concat`. An all_reduce may write the buffer it reads. A `tree`
    is added as runtime/kernels/api/SumTree.h says, other sums in the order of the ranks.

    With an `event` it is only started: it runs on a communication stream, after what
    was issued before it on the compute stream and earlier on its own, and beside what
    follows, up to the `plan.wait` for its event. Streams are `tensor`, of groups within
    tp, and `data`, of all others.

    ```mlir
    plan.collective all_reduce_sum %x to %y over @tp cost <flops = 2048, bytes_read = 8192, bytes_written = 8192> : !plan.buffer<4x8x64xf32> to !plan.buffer<4x8x64xf32>
    plan.collective all_gather %part to %whole over @tp dim 1 event 1 on tensor cost <flops = 0, bytes_read = 4096, bytes_written = 8192> : !plan.buffer<4x4x64xf32> to !plan.buffer<4x8x64xf32>
    plan.wait 1 for %whole, %part : !plan.buffer<4x8x64xf32>, !plan.buffer<4x4x64xf32>
    ```

    Constraints:
    - C1: the group exists and has this stage.
    - C2: `dim` comes with all but all_reduce, `concat` with all_to_all; both are in range.
    - C3: the output has the shape that the kind, the dims and the size of the group ask for, and the input's element type.
    - C4: only a sum is a `tree`.
    - C5: an event is at least 1 and comes with a communication stream; a group with "pp" has none.
  }];
  let arguments = (ins Plan_EnumAttr<Plan_CollectiveKind, "collective_kind">:$kind, Plan_BufferType:$input, Plan_BufferType:$output,
                       FlatSymbolRefAttr:$group, OptionalAttr<I64Attr>:$dim, OptionalAttr<I64Attr>:$concat,
                       OptionalAttr<I64Attr>:$event, OptionalAttr<Plan_EnumAttr<Plan_Stream, "stream">>:$stream, Plan_CostAttr:$cost,
                       UnitAttr:$tree);
  let assemblyFormat = [{`` $kind $input `to` $output `over` $group (`dim` custom<Count>($dim)^)? (`concat` custom<Count>($concat)^)?
    (`tree` $tree^)? (`event` custom<Count>($event)^ `on` `` $stream)? `cost` $cost attr-dict `:` type($input) `to` type($output)}];
}

def Plan_WaitOp : Plan_Instruction<"wait"> {
  let summary = "hold the compute stream until a started collective has ended";
  let description = [{
    Names what the collective held up to here: its output and, where that is another
    buffer, its input. So their lives last for the whole flight.

    ```mlir
    plan.wait 1 for %whole, %part : !plan.buffer<4x8x64xf32>, !plan.buffer<4x4x64xf32>
    ```

    Constraints (of the segment):
    - C1: each event is started once, and waited for once behind that.
    - C2: the buffers are the collective's.
    - C3: in between no instruction uses its output or writes its input.
  }];
  let arguments = (ins I64Attr:$event, Variadic<Plan_BufferType>:$buffers);
  let assemblyFormat = "custom<Count>($event) `for` $buffers attr-dict `:` type($buffers)";
}

def Plan_SendOp : Plan_Instruction<"send", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "put a copy of a buffer into a channel";
  let description = [{
    ```mlir
    plan.send %x on @forward_0_to_1 : !plan.buffer<2x64x64xf32>
    ```

    Constraints:
    - C1: the channel exists, begins at this stage and carries the buffer's type.
  }];
  let arguments = (ins Plan_BufferType:$input, FlatSymbolRefAttr:$channel);
  let assemblyFormat = "$input `on` $channel attr-dict `:` type($input)";
}

def Plan_RecvOp : Plan_Instruction<"recv", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "take the oldest message of a channel";
  let description = [{
    ```mlir
    plan.recv @forward_0_to_1 into %x : !plan.buffer<2x64x64xf32>
    ```

    Constraints:
    - C1: the channel exists, leads to this stage and carries the buffer's type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$channel, Plan_BufferType:$output);
  let assemblyFormat = "$channel `into` $output attr-dict `:` type($output)";
}

def Plan_InputOp : Plan_Instruction<"input"> {
  let summary = "take a value from the host";
  let description = [{
    ```mlir
    plan.input "tokens" into %tokens : !plan.buffer<2x64xi32>
    ```
  }];
  let arguments = (ins StrAttr:$name, Plan_BufferType:$output);
  let assemblyFormat = "$name `into` $output attr-dict `:` type($output)";
}

def Plan_OutputOp : Plan_Instruction<"output"> {
  let summary = "report a scalar to the host";
  let description = [{
    ```mlir
    plan.output %loss as "loss" : !plan.buffer<f32>
    ```

    Constraints:
    - C1: the buffer is a scalar.
  }];
  let arguments = (ins Plan_BufferType:$input, StrAttr:$name);
  let assemblyFormat = "$input `as` $name attr-dict `:` type($input)";
  let hasVerifier = 1;
}

#endif // TGPT_DIALECTS_PLAN_PLANINSTRUCTIONS_TD
