//===- PlanEmitter.h - plan dialect to plan.proto ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_EMIT_PLANEMITTER_H
#define TGPT_COMPILER_EMIT_PLANEMITTER_H

#include "dialects/plan/Plan.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/plan/plan.pb.h"
#include <optional>
#include <string>

namespace tgpt {

/// What the program itself does not know.
struct EmitOptions {
  std::string producer = "tgpt-opt 0.1";
  std::string modelName;        ///< empty: the program's name
  std::string optionsText;      ///< empty: the program's options
  std::optional<uint64_t> seed; ///< absent: the program's seed
};

/// The program as a plan, field by field. Fails with a message when memory has not
/// been assigned.
mlir::FailureOr<plan::Plan> emitPlan(planir::ProgramOp program, const EmitOptions &options = {});

/// The plan of the one program in `module`.
mlir::FailureOr<plan::Plan> emitPlan(mlir::ModuleOp module, const EmitOptions &options = {});

} // namespace tgpt

#endif // TGPT_COMPILER_EMIT_PLANEMITTER_H
