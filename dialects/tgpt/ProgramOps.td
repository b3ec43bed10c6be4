//===- ProgramOps.td - parameters, state and program structure ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_TGPT_PROGRAMOPS_TD
#define TGPT_DIALECTS_TGPT_PROGRAMOPS_TD

include "dialects/dist/DistWindow.td"
include "dialects/tgpt/TgptDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Tgpt_StateRole : I32EnumAttr<"StateRole", "what a state is for", [
    I32EnumAttrCase<"Gradient", 0, "gradient">, I32EnumAttrCase<"Master", 1, "master">,
    I32EnumAttrCase<"Moment1", 2, "moment1">, I32EnumAttrCase<"Moment2", 3, "moment2">,
    I32EnumAttrCase<"Metric", 4, "metric">, I32EnumAttrCase<"Scaling", 5, "scaling">]> {
  let cppNamespace = "::tgpt";
  let genSpecializedAttr = 0;
}

// The mnemonic is what bytecode and the generic form print: `#tgpt<state_role gradient>`.
def Tgpt_StateRoleAttr : EnumAttr<TgptDialect, Tgpt_StateRole, "state_role">;

def Tgpt_InitAttr : AttrDef<TgptDialect, "Init"> {
  let mnemonic = "init";
  let summary = "how the values of a parameter start";
  let description = [{
    A normal distribution drawn by a counter-based generator keyed by the
    parameter's name and the global element index; with `stddev` 0 a constant.

    ```mlir
    #tgpt.init<mean = 0.000000e+00, stddev = 2.000000e-02>
    ```

    Constraints: mean and stddev are finite f64 numbers, stddev at least 0.
  }];
  let parameters = (ins "::mlir::FloatAttr":$meanAttr, "::mlir::FloatAttr":$stddevAttr);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static InitAttr get(::mlir::MLIRContext *context, double mean, double stddev);
    double getMean() const { return getMeanAttr().getValueAsDouble(); }
    double getStddev() const { return getStddevAttr().getValueAsDouble(); }
  }];
}

def Tgpt_ParameterOp : Tgpt_Op<"parameter", [Symbol]> {
  let summary = "declare a trainable tensor";
  let description = [{
    With `per_layer` the declaration stands for that many parameters, one a layer; its
    name has a `*` where the layer's number goes. `no_decay` exempts it from weight decay.
    With a `window` it is a part of a logical tensor, or larger than that by padding; the
    initial values are those of the logical tensor, those of padding 0.

    Lifespan: from tgpt-import to plan-lower, which makes a buffer of it; per_layer
    until tgpt-unroll-layers, which writes the layers out.

    ```mlir
    tgpt.parameter @embed.weight : tensor<256x64xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
    tgpt.parameter @"layers.*.attn_norm.weight" : tensor<64xf32> = #tgpt.init<mean = 1.0, stddev = 0.0> per_layer 4 {no_decay}
    tgpt.parameter @layers.0.attn.k.weight : tensor<16x64xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> {window = #dist.window<"layers.0.attn.qkv.weight", shape = [96, 64], at = [64, 0]>}
    ```

    Constraints:
    - C1: the type is static, of element type f64, f32, bf16 or f16.
    - C2: `per_layer` is at least 1 and comes with exactly one `*` in the name, which has none otherwise.
    - C3: a `window` has the rank of the type and comes without `per_layer`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type, Tgpt_InitAttr:$init,
                       OptionalAttr<I64Attr>:$per_layer, UnitAttr:$no_decay, OptionalAttr<Dist_WindowAttr>:$window);
  let assemblyFormat = "$sym_name `:` $type `=` $init (`per_layer` custom<Count>($per_layer)^)? attr-dict";
  let hasVerifier = 1;
}

def Tgpt_StateOp : Tgpt_Op<"state", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "declare a tensor that outlives a micro-batch: gradient, moment, master copy, metric or loss scaling";
  let description = [{
    Starts as zeros; a master copy starts as its parameter in full precision; a state of
    the loss scaling (the scale, counters of steps) starts as `initial` (absent: 0) and is the same on
    every rank. A `transient` state holds nothing of use from its last read in the update to the next
    begin, so that reader may overwrite it.

    Lifespan: from tgpt-add-optimizer to plan-lower, which makes a buffer of it.

    ```mlir
    tgpt.parameter @embed.weight : tensor<256x64xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
    tgpt.state gradient @embed.weight.gradient of @embed.weight : tensor<256x64xf32> {transient}
    tgpt.state metric @loss_sum : tensor<f32> {transient}
    tgpt.state scaling @loss_scale : tensor<f32> {initial = 65536.0 : f64}
    ```

    Constraints:
    - C1: `of` names a parameter of the same global shape; a metric or scaling has none.
    - C2: the element type is f64 or f32.
    - C3: the type is static.
    - C4: a scaling is a scalar and not transient; `initial` is finite, and absent for all others.
  }];
  let arguments = (ins Tgpt_StateRoleAttr:$role, SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type,
                       OptionalAttr<FlatSymbolRefAttr>:$parameter, UnitAttr:$transient,
                       OptionalAttr<F64Attr>:$initial);
  let builders = [
    OpBuilder<(ins "::tgpt::StateRole":$role, "::llvm::StringRef":$name, "::mlir::RankedTensorType":$type,
                   "::mlir::FlatSymbolRefAttr":$parameter, "bool":$transient), [{
      build($_builder, $_state, role, name, type, parameter, transient, ::mlir::FloatAttr());
    }]>,
  ];
  let assemblyFormat = "`` $role $sym_name (`of` $parameter^)? `:` $type attr-dict";
  let hasVerifier = 1;
}

def Tgpt_BucketOp : Tgpt_Op<"bucket", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "declare a flat tensor that parameters or states of one kind are parts of";
  let description = [{
    The local elements of each member, row-major, lie in the last dim of the bucket from
    the element that `at` gives; elements that belong to no member are zero. Where the
    members are sharded the bucket has a first dim with an entry for each shard, so that
    its layout is as honest as theirs.

    A bucket whose last dim is whole is an alias: members and bucket can both be read and
    written. Where axes shard the last dim each rank holds a piece that need not begin or
    end with a member; only the bucket can be read and written then, and it may have been
    reduced over axes over which its members are partial.

    Lifespan: from zero-form-buckets to plan-lower, which makes one buffer of it.

    ```mlir
    dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
    tgpt.parameter @up.weight : tensor<8x4xf32, #dist.layout<[tp, -], of = [16, 4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
    tgpt.parameter @down.weight : tensor<4x8xf32, #dist.layout<[-, tp], of = [4, 16]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
    tgpt.bucket @zero.mlp of [@up.weight, @down.weight] at [0, 32] : tensor<1x64xf32, #dist.layout<[tp, -], of = [2, 64]>>
    ```

    Constraints:
    - C1: members are parameters, or states of one role; each is a member of one bucket.
    - C2: the element type is that of every member.
    - C3: there is an offset for each member; members do not overlap and end within the last dim.
    - C4: the dims before the last are one, sharded by the axes that shard every member, or none where they are whole.
    - C5: the bucket is partial over the axes of its members, but those that shard its last dim.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type, FlatSymbolRefArrayAttr:$members,
                       DenseI64ArrayAttr:$offsets);
  let assemblyFormat = "$sym_name `of` $members `at` $offsets `:` $type attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Elements of the last dim, all pieces together.
    int64_t getElements();
    /// The axes that shard the last dim.
    ::llvm::SmallVector<::llvm::StringRef, 2> getPieceAxes();
    bool isWhole() { return getPieceAxes().empty(); }
  }];
}

def Tgpt_ReadOp : Tgpt_Op<"read", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>, MemoryEffects<[MemRead]>]> {
  let summary = "take the present value of a parameter or state";
  let description = [{
    In the forward and backward the value is that before the update. Inside
    `tgpt.repeat` a `per_layer` parameter is that of the current layer.

    Lifespan: from tgpt-import and tgpt-add-optimizer to plan-lower, where its result
    becomes the symbol's buffer.

    ```mlir
    tgpt.parameter @embed.weight : tensor<256x64xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
    %w = tgpt.read @embed.weight : tensor<256x64xf32>
    ```

    Constraints:
    - C1: the symbol is a parameter, state or bucket of the result type.
    - C2: a `per_layer` parameter is read inside a `tgpt.repeat` of that count.
  }];
  let arguments = (ins FlatSymbolRefAttr:$symbol);
  let results = (outs AnyRankedTensor:$value);
  let assemblyFormat = "$symbol attr-dict `:` type($value)";
}

def Tgpt_WriteOp : Tgpt_Op<"write", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, MemoryEffects<[MemWrite]>]> {
  let summary = "replace the value of a parameter or state";
  let description = [{
    Lifespan: from tgpt-add-optimizer (@begin and @update) to plan-lower, where the
    producer of the value writes the symbol's buffer, or a copy does.

    ```mlir
    // args: %0: tensor<256x64xf32>
    tgpt.parameter @embed.weight : tensor<256x64xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
    tgpt.write %0, @embed.weight : tensor<256x64xf32>
    ```

    Constraints:
    - C1: the symbol is a parameter, state or bucket of the operand's type.
    - C2: the symbol is no `per_layer` parameter.
  }];
  let arguments = (ins AnyRankedTensor:$value, FlatSymbolRefAttr:$symbol);
  let assemblyFormat = "$value `,` $symbol attr-dict `:` type($value)";
}

def Tgpt_AccumulateOp : Tgpt_Op<"accumulate", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops", "getBytesRead", "getBytesWritten"]>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "add to a state";
  let description = [{
    Lifespan: from tgpt-differentiate (gradients and metrics of each micro-batch) to
    plan-lower, where the producer of the value adds to the state's buffer if its
    kernel can, else an `accumulate` kernel does.

    With `carries` the values of all micro-batches are added in a tree
    (runtime/kernels/api/SumTree.h): state i of `carries` holds a sum of 2^i of them that
    waits for the next 2^i, and the symbol's state the highest level; it is their whole
    sum once the last micro-batch has been added.

    ```mlir
    // args: %0: tensor<f32>
    tgpt.state metric @loss_sum : tensor<f32> {transient}
    tgpt.accumulate %0, @loss_sum : tensor<f32>
    ```
    ```mlir
    // args: %0: tensor<f32>, %i: tensor<i32>
    tgpt.state metric @loss_sum : tensor<f32> {transient}
    tgpt.state metric @loss_sum.carry.0 : tensor<f32> {transient}
    tgpt.accumulate %0, @loss_sum carry [@loss_sum.carry.0] at %i of 4 : tensor<f32>, tensor<i32>
    ```

    With `nodes_of` ranks the addends of a rank are no node of the tree: part `part` of
    `parts` of each micro-batch, of so many ranks. The symbol's state and the carries hold
    the nodes of what has been added so far (cost/SumNodes.h), from the left, and at the end
    those of the rank's addends. Which addend a value is follows from the number of the
    first sample of the micro-batch.

    ```mlir
    // args: %0: tensor<f32>, %samples: tensor<2xi32>
    tgpt.state metric @loss_sum : tensor<f32> {transient}
    tgpt.state metric @loss_sum.carry.0 : tensor<f32> {transient}
    tgpt.accumulate %0, @loss_sum carry [@loss_sum.carry.0] at %samples of 3 nodes_of 2 : tensor<f32>, tensor<2xi32>
    ```

    Constraints:
    - C1: the symbol is a state, or a bucket of states, of the operand's type (layout included: a partial
      value is added to a partial state).
    - C2: so are the carries, which are distinct and one less than the levels of a tree
      of so many micro-batches, 3 at least; with `nodes_of` one less than the nodes at hand.
    - C3: with `nodes_of` the part is one of `parts`, which divide the samples.
  }];
  let arguments = (ins AnyRankedTensor:$value, FlatSymbolRefAttr:$symbol,
                       Optional<AnyTypeOf<[Tgpt_IntegerScalar, Tgpt_SampleTensor]>>:$micro_batch,
                       OptionalAttr<TypedArrayAttrBase<FlatSymbolRefAttr, "states">>:$carries,
                       OptionalAttr<I64Attr>:$micro_batches, OptionalAttr<I64Attr>:$nodes_of,
                       DefaultValuedAttr<I64Attr, "0">:$part, DefaultValuedAttr<I64Attr, "1">:$parts);
  let assemblyFormat = [{$value `,` $symbol (`carry` $carries^ `at` $micro_batch `of` custom<Count>($micro_batches)
    custom<NodesOf>($nodes_of, $part, $parts))? attr-dict `:` type($value) (`,` type($micro_batch)^)?}];
  let builders = [OpBuilder<(ins "::mlir::Value":$value, "::mlir::FlatSymbolRefAttr":$symbol), [{
                    build($_builder, $_state, value, symbol, ::mlir::Value(), ::mlir::ArrayAttr(), ::mlir::IntegerAttr(),
                          ::mlir::IntegerAttr());
                  }]>,
                  OpBuilder<(ins "::mlir::Value":$value, "::llvm::StringRef":$symbol), [{
                    build($_builder, $_state, value, ::mlir::FlatSymbolRefAttr::get($_builder.getContext(), symbol));
                  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The symbols of all states that the op changes: the carries, then the state.
    ::llvm::SmallVector<::mlir::FlatSymbolRefAttr> getLevels();
  }];
}

def Tgpt_RepeatOp : Tgpt_Op<"repeat", [SingleBlock, RecursiveMemoryEffects]> {
  let summary = "a block written once, applied `count` times";
  let description = [{
    The block's arguments are the values that travel from layer to layer. Inside it
    `tgpt.read` of a `per_layer` parameter means that of the current layer.

    Lifespan: from tgpt-import to tgpt-unroll-layers; none remains after it.

    ```mlir
    // args: %x: tensor<2x8x64xf32>
    %y = tgpt.repeat 4 (%h = %x) : tensor<2x8x64xf32> {
      %0 = tgpt.gelu %h : (tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
      tgpt.yield %0 : tensor<2x8x64xf32>
    }
    ```

    Constraints:
    - C1: `count` is at least 1.
    - C2: operands, block arguments, yielded values and results have the same types.

    Every `per_layer` parameter read inside has `per_layer` equal to `count`: C2 of
    `tgpt.read`.
  }];
  let arguments = (ins I64Attr:$count, Variadic<AnyRankedTensor>:$inits);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tgpt_YieldOp : Tgpt_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["::tgpt::RepeatOp"]>]> {
  let summary = "end a repeated block and name the values that travel to the next layer";
  let description = [{
    Lifespan: that of the `tgpt.repeat` around it.

    ```mlir
    // args: %x: tensor<2x8x64xf32>
    %y = tgpt.repeat 2 (%h = %x) : tensor<2x8x64xf32> {
      %0 = tgpt.gelu %h : (tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
      tgpt.yield %0 : tensor<2x8x64xf32>
    }
    ```

    Constraints: C2 of `tgpt.repeat`.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Tgpt_BeginBackwardOp : Tgpt_Op<"begin_backward", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "mark where the backward begins";
  let description = [{
    Ops before it are the forward, ops after it the backward of a micro-batch. Its
    memory effects keep it in place among reads, writes and accumulations.

    Lifespan: from tgpt-differentiate to dist-split-stages; none remains after it.

    ```mlir
    tgpt.begin_backward
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif // TGPT_DIALECTS_TGPT_PROGRAMOPS_TD
