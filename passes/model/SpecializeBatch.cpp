//===- SpecializeBatch.cpp - fix the batch size and the compute dtype ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which shapes and dtypes does this program have? The model file leaves the batch
// open and is written in f32:
//
//   tensor<?x64x64xf32>   ->   tensor<8x64x64xbf16>      (samples=8 dtype=bf16)
//
// Relies on: a verified L0 module. Leaves true: every type is static; statistics
// are in the accumulation dtype, everything else in the compute dtype.
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/model/Passes.h"

namespace tgpt {
#define GEN_PASS_DEF_SPECIALIZEBATCH
#include "passes/model/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

Type parseDtype(MLIRContext *context, StringRef dtype) {
  if (dtype == "f64")
    return Float64Type::get(context);
  if (dtype == "f32")
    return Float32Type::get(context);
  if (dtype == "bf16")
    return BFloat16Type::get(context);
  if (dtype == "f16")
    return Float16Type::get(context);
  return {};
}

/// Gives types their batch size and element type.
class Specializer {
public:
  Specializer(int64_t samples, Type computeType)
      : samples(samples), computeType(computeType), statisticsType(accumulationType(computeType)) {}

  RankedTensorType specialize(Type type, bool isStatistic) const {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tensor.getShape());
    if (!shape.empty() && ShapedType::isDynamic(shape[0]))
      shape[0] = samples;
    Type element = tensor.getElementType();
    if (isa<FloatType>(element))
      element = isStatistic ? statisticsType : computeType;
    return RankedTensorType::get(shape, element);
  }

  LogicalResult run(ModuleOp module) {
    WalkResult result = module.walk([&](Operation *op) {
      if (auto parameter = dyn_cast<ParameterOp>(op))
        parameter.setType(specialize(parameter.getType(), /*isStatistic=*/false));
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            if (failed(set(argument, /*isStatistic=*/false)))
              return WalkResult::interrupt();
      auto kernel = dyn_cast<KernelOpInterface>(op);
      for (OpResult value : op->getResults())
        if (failed(set(value, kernel && kernel.hasAccumulationType(value.getResultNumber()))))
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    module.walk([](func::FuncOp function) { updateSignature(function); });
    return success();
  }

  int64_t changedTypes = 0, keptTypes = 0;

private:
  LogicalResult set(Value value, bool isStatistic) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return success();
    RankedTensorType specialized = specialize(type, isStatistic);
    if (!specialized.hasStaticShape())
      return emitError(value.getLoc()) << "only the first dim may be open (`?`), but the type is " << type;
    ++(specialized != type ? changedTypes : keptTypes);
    value.setType(specialized);
    return success();
  }

  static void updateSignature(func::FuncOp function) {
    Operation *terminator = function.getBody().front().getTerminator();
    function.setFunctionType(
        FunctionType::get(function.getContext(), function.getBody().getArgumentTypes(), terminator->getOperandTypes()));
  }

  int64_t samples;
  Type computeType, statisticsType;
};

struct SpecializeBatchPass : tgpt::impl::SpecializeBatchBase<SpecializeBatchPass> {
  using SpecializeBatchBase::SpecializeBatchBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (samples < 1) {
      module.emitError() << "the micro-batch has " << int64_t(samples) << " samples, expected at least 1";
      return signalPassFailure();
    }
    Type computeType = parseDtype(&getContext(), dtype);
    if (!computeType) {
      module.emitError() << "unknown dtype '" << dtype << "', expected f64, f32, bf16 or f16";
      return signalPassFailure();
    }
    Specializer specializer(samples, computeType);
    if (failed(specializer.run(module)))
      return signalPassFailure();
    numTypes += specializer.changedTypes;
    numKept += specializer.keptTypes;
  }
};

} // namespace
