//===- OpKnowledge.td - what an op knows about itself ---*- tablegen -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The questions that passes ask of an op, so that no pass needs to know ops: how is
// it differentiated, how may it be sharded, what does it cost, which kernel runs it,
// in which order does it add, which random numbers does it draw, and can its result wait.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_INTERFACES_OPKNOWLEDGE_TD
#define TGPT_DIALECTS_INTERFACES_OPKNOWLEDGE_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let description = [{
    Reverse-mode differentiation: the op appends the ops that compute the
    gradients of its operands from the gradients of its results.
  }];
  let cppNamespace = "::tgpt";
  let methods = [
    InterfaceMethod<[{
      Appends the backward of this op at the builder's insertion point. Reads the
      gradients of its results with `gradients.of(result)` (null when the result
      does not reach the loss) and hands gradients of operands to
      `gradients.add(operand, gradient)`. Called only when at least one result
      has a gradient.
    }], "::llvm::LogicalResult", "buildBackward",
      (ins "::mlir::OpBuilder &":$builder, "::tgpt::Gradients &":$gradients)>,
    InterfaceMethod<[{
      The values that the backward reads: what must stay in memory between
      forward and backward.
    }], "::llvm::SmallVector<::mlir::Value>", "getSavedForBackward", (ins)>,
    InterfaceMethod<[{
      True when selective recomputation takes the op whatever operations it costs.
    }], "bool", "isWorthRecomputing", (ins), "", [{ return false; }]>,
  ];
}

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let description = [{
    How the dims of operands and results belong together. Where operand and
    result types carry layouts, every op of this interface is verified against
    its rule.
  }];
  let cppNamespace = "::tgpt";
  let methods = [
    InterfaceMethod<"The rule, for the ranks this op has.",
      "::tgpt::ShardingRule", "getShardingRule", (ins)>,
  ];
  let verify = [{ return ::tgpt::verifyLayouts($_op); }];
}

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let description = [{
    What one execution of the op costs, from its (local) types alone. The single
    source of flops and bytes for reports, planner and simulator.
  }];
  let cppNamespace = "::tgpt";
  let methods = [
    InterfaceMethod<"Floating-point operations; a multiply-add counts two.",
      "int64_t", "getFlops", (ins)>,
    InterfaceMethod<[{
      The operations that count as the model's work in MFU, as the field counts them
      (arXiv 2205.05198, appendix A): matrix products alone, attention in full whether
      causal or not, and nothing that is computed a second time.
    }], "int64_t", "getModelFlops", (ins), "", [{ return 0; }]>,
    InterfaceMethod<"What the operations are: which peak of a device bounds them (cost/KernelTime.h).",
      "::tgpt::cost::KernelKind", "getKernelKind", (ins), "", [{
        return ::tgpt::cost::KernelKind::Vector;
      }]>,
    InterfaceMethod<"Bytes read from memory: every operand once.",
      "int64_t", "getBytesRead", (ins), "", [{
        return ::tgpt::sumBytes($_op->getOperandTypes());
      }]>,
    InterfaceMethod<"Bytes written to memory: every result once.",
      "int64_t", "getBytesWritten", (ins), "", [{
        return ::tgpt::sumBytes($_op->getResultTypes());
      }]>,
  ];
}

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let description = [{
    Which kernel of the catalogue (runtime/kernels/KERNELS.md) runs the op. The
    kernel's inputs are the op's operands in order, its outputs the results.
  }];
  let cppNamespace = "::tgpt";
  let methods = [
    InterfaceMethod<"Name in the catalogue: the op's mnemonic unless it says otherwise.",
      "::llvm::StringRef", "getKernelName", (ins), "", [{
        return $_op->getName().stripDialect();
      }]>,
    InterfaceMethod<[{
      Scalar attributes of the call. By default the op's own integer, float, bool
      and string attributes.
    }], "::mlir::NamedAttrList", "getKernelAttributes", (ins), "", [{
        return ::tgpt::scalarAttributes($_op);
      }]>,
    InterfaceMethod<[{
      Attributes that say where in the global tensor this rank's shard begins:
      along `dim` of an operand or result.
    }], "::llvm::SmallVector<::tgpt::ShardOffset>", "getShardOffsets", (ins), "", [{
        return {};
      }]>,
    InterfaceMethod<[{
      True when result `i` holds statistics in the accumulation type (f64 for f64,
      else f32) and not a value in the compute type.
    }], "bool", "hasAccumulationType", (ins "unsigned":$i), "", [{ return i > 0; }]>,
    InterfaceMethod<"True when the kernel can add result `i` to the buffer instead of overwriting it.",
      "bool", "canAccumulate", (ins "unsigned":$i), "", [{ return false; }]>,
    InterfaceMethod<[{
      The operand whose buffer result `i` may reuse, if the kernel allows the two
      to be the same memory.
    }], "std::optional<unsigned>", "getInPlaceOperand", (ins "unsigned":$i), "", [{
        return std::nullopt;
      }]>,
    InterfaceMethod<[{
      Bytes that the kernel of a device needs beside its operands while it runs, by the
      local types (cost/KernelWorkspace.h).
    }], "int64_t", "getWorkspaceBytes", (ins), "", [{ return 0; }]>,
  ];
}

def ChunkedSumOpInterface : OpInterface<"ChunkedSumOpInterface"> {
  let description = [{
    How the op adds up where every grid must get the same bits (--reduction=canonical):
    the dim of an operand that is cut into chunks which do not depend on the grid. Each
    chunk is added up by itself and the chunks in a tree (runtime/kernels/api/SumTree.h).
    An op whose rule reduces a factor must have this interface to be compiled so.
  }];
  let cppNamespace = "::tgpt";
  let methods = [
    InterfaceMethod<[{
      The dim that is cut; none where the order of the additions changes no bit, because
      one addend at most differs from 0.
    }], "::std::optional<::tgpt::ChunkedDim>", "getChunkedDim", (ins)>,
    InterfaceMethod<[{
      Where a result sums over samples and over something that tensor parallelism shards
      as well, lets the op give one sum a sample, and another op add these. So whatever
      shards the rest is reduced first, and the samples of micro-batches and dp ranks
      come in one tree.
    }], "void", "sumBySample", (ins "::mlir::OpBuilder &":$builder), "", [{ return; }]>,
    InterfaceMethod<[{
      An op whose result is the sum of this op's and `other`'s, chunk by chunk, so that
      their sum over ranks is one reduction; null where there is none.
    }], "::mlir::Operation *", "joinSum",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Operation *":$other), "", [{ return nullptr; }]>,
  ];
}

def RandomStreamOpInterface : OpInterface<"RandomStreamOpInterface"> {
  let description = [{
    An op that draws random numbers. Which ones follows from a seed, chosen for a whole
    run, and the name of the op's stream, in which a layer's op has the layer's number.
  }];
  let cppNamespace = "::tgpt";
  let methods = [
    InterfaceMethod<"The name of the stream; empty where the op draws nothing.",
      "::llvm::StringRef", "getStreamName", (ins)>,
    InterfaceMethod<"Renames the stream of an op that has one.",
      "void", "setStreamName", (ins "::llvm::StringRef":$name)>,
    InterfaceMethod<"Sets the seed.",
      "void", "setStreamSeed", (ins "int64_t":$seed)>,
  ];
}

// An op whose results are gradients of parameters, and nothing else comes of it: no other
// stage of a pipeline waits for them, so they can be computed later than the rest of a backward.
def ParameterGradient : NativeOpTrait<"ParameterGradient"> {
  let cppNamespace = "::tgpt";
}

#endif // TGPT_DIALECTS_INTERFACES_OPKNOWLEDGE_TD
