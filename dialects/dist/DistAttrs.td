//===- DistAttrs.td - layouts ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_DIST_DISTATTRS_TD
#define TGPT_DIALECTS_DIST_DISTATTRS_TD

include "dialects/dist/DistDialect.td"
include "dialects/dist/DistWindow.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/EnumAttr.td"

def Dist_ReductionKind : I32EnumAttr<"ReductionKind", "how partial values combine", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">]> {
  let cppNamespace = "::tgpt::dist";
  let genSpecializedAttr = 0;
}

def Dist_SegmentKind : I32EnumAttr<"SegmentKind", "what part of a training step a segment is", [
    I32EnumAttrCase<"Begin", 0, "begin">, I32EnumAttrCase<"Forward", 1, "forward">,
    I32EnumAttrCase<"Backward", 2, "backward">, I32EnumAttrCase<"Update", 3, "update">,
    I32EnumAttrCase<"WeightGradient", 4, "weight_gradient">]> {
  let cppNamespace = "::tgpt::dist";
  let genSpecializedAttr = 0;
}

// The mnemonics are what bytecode and the generic form print: `#dist<reduction sum>`.
def Dist_ReductionKindAttr : EnumAttr<DistDialect, Dist_ReductionKind, "reduction">;
def Dist_SegmentKindAttr : EnumAttr<DistDialect, Dist_SegmentKind, "segment_kind">;

def Dist_LayoutAttr : AttrDef<DistDialect, "Layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding, ["verifyEncoding"]>]> {
  let mnemonic = "layout";
  let summary = "how a tensor is spread over the mesh";
  let description = [{
    Per dim the mesh axes that shard it, outermost first (`-` for none), then the
    axes over which the tensor is partial: each device holds an addend (or, with
    `max`, a candidate) of the true value. Axes that are not named replicate.

    With `of` the tensor type is the local shard of a global tensor of that shape.

    ```mlir
    tensor<8x512x64xf32, #dist.layout<[dp, tp, -]>>
    tensor<8x512x64xf32, #dist.layout<[dp, -, -], partial = [tp]>>
    tensor<8x512xf32, #dist.layout<[dp, -], partial = max [tp]>>
    tensor<4x256x64xf32, #dist.layout<[dp, tp, -], of = [8, 512, 64]>>
    tensor<256x64xf32, #dist.layout<[{dp, tp}, -]>>
    ```

    Constraints:
    - C1: one entry per dim of the tensor.
    - C2: an axis appears once: in one dim or in `partial`.
    - C3: `of` has as many dims as the tensor and a dim without axes has its global size.
  }];
  let parameters = (ins
    ArrayRefParameter<"::mlir::ArrayAttr", "per dim, the axes (StringAttr) that shard it">:$dims,
    "::mlir::ArrayAttr":$partial,
    "::tgpt::dist::ReductionKind":$reduction,
    "::mlir::DenseI64ArrayAttr":$global);
  let skipDefaultBuilders = 0;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    using Axes = ::llvm::SmallVector<::llvm::StringRef, 2>;

    /// Nothing sharded, nothing partial.
    static LayoutAttr replicated(::mlir::MLIRContext *context, int64_t rank);
    static LayoutAttr get(::mlir::MLIRContext *context, ::llvm::ArrayRef<Axes> dims, ::llvm::ArrayRef<::llvm::StringRef> partial = {},
                          ReductionKind reduction = ReductionKind::Sum);

    int64_t getRank() const { return getDims().size(); }
    /// Axes that shard dim `dim`, outermost first.
    Axes axesOf(int64_t dim) const;
    Axes partialAxes() const;
    bool isPartial() const { return !getPartial().empty(); }
    bool isLocal() const { return getGlobal() != nullptr; }
    /// True when no axis shards a dim and none is partial.
    bool isReplicated() const;
    /// The dim that `axis` shards, or -1.
    int64_t dimOf(::llvm::StringRef axis) const;
    bool isPartialOver(::llvm::StringRef axis) const;

    LayoutAttr withPartial(::llvm::ArrayRef<::llvm::StringRef> axes, ReductionKind reduction = ReductionKind::Sum) const;
    LayoutAttr withDim(int64_t dim, ::llvm::ArrayRef<::llvm::StringRef> axes) const;
    /// With the global shape as claim, or (null) without.
    LayoutAttr withGlobal(::mlir::DenseI64ArrayAttr shape) const;
  }];
}

def Dist_PendingType : TypeDef<DistDialect, "Pending"> {
  let mnemonic = "pending";
  let summary = "a tensor that a collective has been started for and that is not there yet";
  let description = [{
    No op takes it but `dist.wait`, so nothing can read the tensor too early.

    ```mlir
    !dist.pending<tensor<4x8xf32, #dist.layout<[-, -], of = [4, 8]>>>
    ```
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
}

#endif // TGPT_DIALECTS_DIST_DISTATTRS_TD
