//===- DistWindow.td - which part of a logical tensor a variable is ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Apart from the other attributes, for dialects that have enums of their own.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_DIST_DISTWINDOW_TD
#define TGPT_DIALECTS_DIST_DISTWINDOW_TD

include "dialects/dist/DistDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Dist_WindowAttr : AttrDef<DistDialect, "Window"> {
  let mnemonic = "window";
  let summary = "which part of a logical tensor a variable is";
  let description = [{
    A variable need not be the tensor that a user knows. It may be a part of one: the
    query weight of a fused qkv weight. It may be larger: a vocabulary padded to what the
    mesh divides. A window says where the variable's elements lie: its element 0 is at
    `at` in the tensor `name` of `shape`. What lies outside of that tensor is padding,
    which is 0, always. Checkpoints, initial values and norms know the logical tensor only.

    ```mlir
    #dist.window<"layers.0.attn.qkv.weight", shape = [96, 64], at = [64, 0]>
    #dist.window<"embed.weight", shape = [257, 64], at = [0, 0]>
    ```

    Constraints:
    - C1: `shape` and `at` have one entry per dim, at least one.
    - C2: every size is at least 1 and `at` is inside of `shape`.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, ArrayRefParameter<"int64_t", "sizes of the logical tensor">:$shape,
                        ArrayRefParameter<"int64_t", "where element 0 of the variable is">:$at);
  let assemblyFormat = "`<` $name `,` `shape` `=` `[` $shape `]` `,` `at` `=` `[` $at `]` `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Elements of a variable of this (global) shape that are not padding.
    int64_t elementsIn(::llvm::ArrayRef<int64_t> variableShape) const;
  }];
}

#endif // TGPT_DIALECTS_DIST_DISTWINDOW_TD
