//===- TgptDialect.td - what is computed ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_TGPT_TGPTDIALECT_TD
#define TGPT_DIALECTS_TGPT_TGPTDIALECT_TD

include "dialects/interfaces/OpKnowledge.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TgptDialect : Dialect {
  let name = "tgpt";
  let summary = "what is computed: a GPT and its training step";
  let description = [{
    Ops on tensors in value semantics. A model is a function from tokens and labels
    to the sum of the token losses and their number; the training step adds the
    backward ops, gradient accumulation and the optimizer.

    Factor letters used below: b batch, s sequence, d model width, k and n input and
    output features, v vocabulary, h query heads, g KV heads, c elements a head.

    Attributes that any op may carry:
    - `tgpt.layer`: the layer an op belongs to, an i64;
    - `tgpt.recompute` on a forward op: whether the backward computes it again, a bool;
    - `tgpt.recomputed` on an op of the backward that does so, a unit;
    - `tgpt.chunks` on an op with a sum: how it is cut where bits must not depend on the grid, a #tgpt.chunks;
    - `tgpt.node` beside it: the op adds up one node of the chunks that lie on its rank, a #tgpt.node;
    - `tgpt.part` on an op with a sum over samples: the op adds up a part of those that lie on its rank, a #tgpt.part;
    - `tgpt.reduction` on the module: "canonical" where they must not, a string;
    - `tgpt.model_share` on an op that works on padding too: the share of its operations
      that are the model's, an f64 above 0 and at most 1;
    - `tgpt.phase` on a function: "begin", "micro_batch" or "update";
    - `tgpt.name` on a function's argument or result: what a plan calls it, a string.
  }];
  let cppNamespace = "::tgpt";
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

class Tgpt_Op<string mnemonic, list<Trait> traits = []> : Op<TgptDialect, mnemonic, traits>;

def Tgpt_Float : AnyTypeOf<[F64, F32, BF16, F16], "f64, f32, bf16 or f16">;
def Tgpt_Tensor : RankedTensorOf<[F64, F32, BF16, F16]>;
def Tgpt_AccTensor : RankedTensorOf<[F64, F32]>;
def Tgpt_Scalar : RankedTensorOf<[F64, F32], [HasAnyRankOfPred<[0]>], "scalar: tensor of rank 0">;
def Tgpt_IntegerScalar : RankedTensorOf<[I32], [HasAnyRankOfPred<[0]>], "integer scalar: i32 tensor of rank 0">;
def Tgpt_SampleTensor : RankedTensorOf<[I32], [HasAnyRankOfPred<[1]>], "tensor [batch] of sample numbers">;
def Tgpt_TokenTensor : RankedTensorOf<[I32], [HasAnyRankOfPred<[2]>], "token tensor [batch, sequence]">;

// An op whose sums can be cut into chunks that no grid changes.
class ChunkedSum<list<string> methods = []> {
  Trait T = DeclareOpInterfaceMethods<ChunkedSumOpInterface, !listconcat(["getChunkedDim"], methods)>;
}

def Tgpt_ChunksAttr : AttrDef<TgptDialect, "Chunks"> {
  let mnemonic = "chunks";
  let summary = "how a sum is cut into chunks that no grid changes";
  let description = [{
    The dim `dim` of operand `operand` (of the whole tensor) is cut into `count` equal
    chunks; each is added up by itself, and the chunks in a tree
    (runtime/kernels/api/SumTree.h).

    ```mlir
    #tgpt.chunks<count = 8, operand = 0, dim = 2>
    ```

    Constraints: count is at least 1, operand and dim at least 0.
  }];
  let parameters = (ins "int64_t":$count, "int64_t":$operand, "int64_t":$dim);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tgpt_NodeAttr : AttrDef<TgptDialect, "Node"> {
  let mnemonic = "node";
  let summary = "which node of a rank's chunks an op adds up";
  let description = [{
    The chunks of `tgpt.chunks` that lie on a rank are some nodes of the tree
    (cost/SumNodes.h), one only where their number is a power of two. The op adds up
    number `index` of them; `axes` say of which ranks the chunks lie side by side.

    ```mlir
    #tgpt.node<index = 1, axes = ["tp"]>
    ```

    Constraints: index is at least 0, axes are strings.
  }];
  let parameters = (ins "int64_t":$index, "::mlir::ArrayAttr":$axes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tgpt_PartAttr : AttrDef<TgptDialect, "Part"> {
  let mnemonic = "part";
  let summary = "which part of a rank's samples an op adds up";
  let description = [{
    A micro-batch has `count` equal parts of a power of two samples on each rank; the
    op adds up those of part `index`.

    ```mlir
    #tgpt.part<index = 0, count = 3>
    ```

    Constraints: index is at least 0 and below count.
  }];
  let parameters = (ins "int64_t":$index, "int64_t":$count);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

// An op that computes: it knows its rule, its cost and its kernel.
class Tgpt_ComputeOp<string mnemonic, list<Trait> traits = [], list<string> kernelMethods = [],
                     list<string> costMethods = ["getFlops"]>
    : Tgpt_Op<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule"]>,
        DeclareOpInterfaceMethods<CostOpInterface, costMethods>,
        DeclareOpInterfaceMethods<KernelOpInterface, kernelMethods>,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>], traits)> {
  let hasVerifier = 1;
  // Values are printed under the name of what computed them: %linear_3.
  let extraClassDefinition = [{
    void $cppClass::getAsmResultNames(::mlir::OpAsmSetValueNameFn setName) {
      setName(getOperation()->getResult(0), getOperation()->getName().stripDialect());
    }
  }];
}

// ... and of which the backward can be built.
class Tgpt_ForwardOp<string mnemonic, list<Trait> traits = [], list<string> kernelMethods = [],
                     list<string> costMethods = ["getFlops"]>
    : Tgpt_ComputeOp<mnemonic, !listconcat([
        DeclareOpInterfaceMethods<DifferentiableOpInterface, ["buildBackward", "getSavedForBackward"]>], traits), kernelMethods,
        costMethods>;

#endif // TGPT_DIALECTS_TGPT_TGPTDIALECT_TD
