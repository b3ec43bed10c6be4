//===- test/mutation/IrMutationTest.cpp - mistakes in partitioned programs that the verifier must find -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every collective of partitioned programs is dropped, repeated, or given other axes,
// dims or reductions, with the types left alone and with the types a careless pass
// would write; and every value's type is made to claim something false. Op verifiers
// and dist-verify-partitioned must refuse what then computes something else.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "runtime/plan/Error.h"
#include "test/e2e/InProcessCompiler.h"
#include "test/mutation/LayoutMutations.h"
#include "test/mutation/MutationTable.h"
#include "test/mutation/Programs.h"

#include <gtest/gtest.h>

#include <cstdio>

using namespace mlir;
using namespace tgpt;
using dist::LayoutAttr;

namespace {

bool isCollective(Operation *op) {
  return isa<dist::AllReduceOp, dist::AllGatherOp, dist::ReduceScatterOp, dist::AllToAllOp, dist::SliceOp>(op);
}

SmallVector<StringRef> axesOf(ModuleOp module) {
  return llvm::to_vector(dist::meshOf(module).getAxes().getAsValueRange<StringAttr>());
}

/// Mutates one program, as it is after `phase`, in every place.
class IrMutation {
public:
  IrMutation(InProcessCompiler &compiler, const Configuration &program, const std::string &phase, MutationTable &table)
      : compiler(compiler), program(program), phase(phase), table(table),
        run(compiler.compile(program.model, program.options)), original(compiler.importModel(program.model)) {
    compiler.runPhases(*original, program.options, "", phase);
  }

  void mutateCollectives() {
    for (size_t i = 0; i < opsOf(*original, isCollective).size(); ++i)
      mutateCollective(i);
  }

  /// The all_reduces over "pp" of all stages at once: a mistake of the pass, not of a stage.
  void mutateOnAllStages() {
    for (size_t i = 0; i < stageReductionsOf(*original, 0).size(); ++i) {
      auto attempt = [&](const char *mutation, llvm::function_ref<void(Operation *)> mutate) {
        OwningOpRef<ModuleOp> mutant = original->clone();
        for (int64_t stage = 0; stage < program.options.pp; ++stage)
          mutate(stageReductionsOf(*mutant, stage)[i]);
        judge(mutation, *mutant, "all_reduce " + std::to_string(i) + " over the stages");
      };
      attempt("on all stages: drop", drop);
      attempt("on all stages: repeat", repeat);
      attempt("on all stages: change reduction", changeReduction);
      for (StringRef axis : axesOf(*original))
        if (axis != "pp")
          attempt("on all stages: change axis",
                  [&](Operation *op) { op->setAttr("axes", Builder(op).getStrArrayAttr({axis})); });
    }
  }

  void mutateTypes() {
    std::vector<Operation *> ops = opsOf(*original, [](Operation *op) { return op->getNumResults() > 0; });
    for (size_t i = 0; i < ops.size(); ++i)
      for (unsigned result = 0; result < ops[i]->getNumResults(); ++result)
        if (auto type = dyn_cast<RankedTensorType>(ops[i]->getResult(result).getType()); type && dist::layoutOf(type))
          for (const FalseType &claimed : falseTypesOf(type, dist::meshOf(ops[i])))
            attemptType(claimed, i, result);
  }

private:
  using Predicate = llvm::function_ref<bool(Operation *)>;

  static std::vector<Operation *> opsOf(ModuleOp module, Predicate predicate) {
    std::vector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (predicate(op))
        ops.push_back(op);
    });
    return ops;
  }

  void mutateCollective(size_t index) {
    auto attempt = [&](const char *mutation, llvm::function_ref<void(Operation *)> mutate) {
      OwningOpRef<ModuleOp> mutant = original->clone();
      Operation *op = opsOf(*mutant, isCollective)[index];
      std::string where = op->getName().getStringRef().str() + " " + std::to_string(index);
      mutate(op);
      judge(mutation, *mutant, where);
    };
    attempt("drop", drop);
    if (dist::waitOf(opsOf(*original, isCollective)[index])) {
      attempt("drop with its wait", dropFlight);
      attempt("repeat with its wait", repeatFlight);
      attempt("take the tensor without the wait", [](Operation *op) {
        dist::WaitOp wait = dist::waitOf(op);
        wait.getOutput().replaceAllUsesWith(op->getResult(0));
      });
      attempt("drop the wait", [](Operation *op) {
        dist::WaitOp wait = dist::waitOf(op);
        wait.getOutput().replaceAllUsesWith(op->getOperand(0));
        wait.erase();
      });
    }
    attempt("drop, claiming the result's type", dropClaiming);
    attempt("repeat", repeat);
    attempt("repeat, claiming the operand's type between", repeatClaiming);
    Operation *op = opsOf(*original, isCollective)[index];
    for (StringRef axis : axesOf(*original))
      if (op->getAttrOfType<ArrayAttr>("axes") != Builder(op).getStrArrayAttr({axis})) {
        auto setAxis = [&](Operation *op) { op->setAttr("axes", Builder(op).getStrArrayAttr({axis})); };
        attempt("change axis", setAxis);
        attempt("change axis, claiming what follows", [&](Operation *op) {
          setAxis(op);
          claimPartial(op, axis);
        });
      }
    for (const char *name : {"dim", "split", "concat"})
      if (op->hasAttr(name))
        for (int64_t dim = 0; dim < dist::layoutOf(op->getOperand(0)).getRank(); ++dim)
          if (dim != op->getAttrOfType<IntegerAttr>(name).getInt())
            attempt("change dim", [&](Operation *op) { op->setAttr(name, Builder(op).getI64IntegerAttr(dim)); });
    if (isa<dist::AllReduceOp>(op))
      attempt("change reduction", changeReduction);
  }

  static void drop(Operation *op) {
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
  }
  static std::vector<Operation *> stageReductionsOf(ModuleOp module, int64_t stage) {
    return opsOf(module, [&](Operation *op) {
      auto reduce = dyn_cast<dist::AllReduceOp>(op);
      auto segment = op->getParentOfType<dist::SegmentOp>();
      return reduce && segment && static_cast<int64_t>(segment.getStage()) == stage &&
             llvm::is_contained(reduce.getAxes().getAsValueRange<StringAttr>(), "pp");
    });
  }

  static void changeReduction(Operation *op) {
    auto reduce = cast<dist::AllReduceOp>(op);
    bool isSum = reduce.getReduction() == dist::ReductionKind::Sum;
    reduce.setReduction(isSum ? dist::ReductionKind::Max : dist::ReductionKind::Sum);
  }
  /// A pending result stays pending, and its wait gives what it is for.
  static void setTensor(Value value, RankedTensorType tensor) {
    dist::WaitOp wait = value.getDefiningOp() && isCollective(value.getDefiningOp())
                            ? dist::waitOf(value.getDefiningOp())
                            : dist::WaitOp();
    value.setType(wait ? Type(dist::PendingType::get(tensor.getContext(), tensor)) : Type(tensor));
    if (wait)
      wait.getOutput().setType(tensor);
  }
  /// Start and wait: what would be a mistake of the pass that overlaps.
  static void dropFlight(Operation *op) {
    dist::WaitOp wait = dist::waitOf(op);
    wait.getOutput().replaceAllUsesWith(op->getOperand(0));
    wait.erase();
    op->erase();
  }
  static void repeatFlight(Operation *op) {
    dist::WaitOp wait = dist::waitOf(op);
    OpBuilder builder(op);
    builder.setInsertionPointAfter(wait);
    Operation *second = builder.clone(*op);
    second->setOperand(0, wait.getOutput());
    auto again = dist::WaitOp::create(builder, wait.getLoc(), wait.getOutput().getType(), second->getResult(0));
    wait.getOutput().replaceUsesWithIf(again.getOutput(), [&](OpOperand &use) {
      return use.getOwner() != second && again->isBeforeInBlock(use.getOwner());
    });
  }
  static void dropClaiming(Operation *op) {
    Value operand = op->getOperand(0);
    operand.setType(op->getResult(0).getType());
    drop(op);
  }
  static void repeat(Operation *op) {
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    Operation *second = builder.clone(*op);
    op->getResult(0).replaceAllUsesWith(second->getResult(0));
    second->setOperand(0, op->getResult(0));
  }
  static void repeatClaiming(Operation *op) {
    repeat(op);
    op->getResult(0).setType(op->getOperand(0).getType());
  }
  /// The result is partial over what the operand is, but for `axis`.
  static void claimPartial(Operation *op, StringRef axis) {
    LayoutAttr operand = dist::layoutOf(op->getOperand(0)), result = dist::layoutOf(op->getResult(0));
    LayoutAttr::Axes rest = operand.partialAxes();
    llvm::erase(rest, axis);
    for (int64_t dim = 0; dim < result.getRank(); ++dim)
      llvm::erase_if(rest, [&](StringRef left) { return llvm::is_contained(result.axesOf(dim), left); });
    setTensor(op->getResult(0), dist::withLayout(dist::tensorOf(op->getResult(0).getType()),
                                                 result.withPartial(rest, operand.getReduction())));
  }

  void attemptType(const FalseType &claimed, size_t index, unsigned result) {
    OwningOpRef<ModuleOp> mutant = original->clone();
    Operation *op = opsOf(*mutant, [](Operation *op) { return op->getNumResults() > 0; })[index];
    op->getResult(result).setType(claimed.type);
    judge(claimed.mutation, *mutant, op->getName().getStringRef().str() + " result " + std::to_string(result));
  }

  void judge(const std::string &mutation, ModuleOp mutant, std::string where) {
    std::string diagnostics;
    Fate fate = Fate::Verifier;
    if (compiler.accepts(mutant, "dist-verify-partitioned", diagnostics))
      fate = judgeAccepted(mutant, diagnostics);
    table.add(phase + ", " + mutation, fate, where + " of " + program.text() + ": " + diagnostics);
  }

  Fate judgeAccepted(ModuleOp mutant, std::string &why) {
    try {
      compiler.runPhases(mutant, program.options, phase, "plan");
      return run.judge(compiler.emit(mutant, program.options), why);
    } catch (const runtime::Error &) { // refused by a later phase, or by the plan checker
      return Fate::Checker;
    }
  }

  InProcessCompiler &compiler;
  Configuration program;
  std::string phase;
  MutationTable &table;
  MutantRun run;
  OwningOpRef<ModuleOp> original;
};

} // namespace

TEST(IrMutationTest, VerifierRefusesMutants) {
  InProcessCompiler compiler;
  MutationTable table;
  for (const Configuration &program : mutatedPrograms(/*pp=*/1)) {
    IrMutation mutation(compiler, program, "partitioned", table);
    mutation.mutateCollectives();
    mutation.mutateTypes();
  }
  for (const Configuration &program : mutatedPrograms(/*pp=*/2)) {
    IrMutation mutation(compiler, program, "pipelined", table);
    mutation.mutateCollectives();
    mutation.mutateOnAllStages();
  }
  for (Configuration program : mutatedPrograms(/*pp=*/2)) {
    program.options.overlap = true;
    IrMutation(compiler, program, "pipelined", table).mutateCollectives();
  }
  std::printf("%s", table.text().c_str());
  EXPECT_GT(table.mutants(), 4000);
  EXPECT_EQ(table.shareCaught(), 1);
}

TEST(IrMutationTest, VerifierRefusesMutantsOfZero) {
  InProcessCompiler compiler;
  MutationTable table;
  for (int64_t zero : {1, 2, 3}) {
    Configuration program = mutatedZeroPrograms(/*pp=*/1, zero)[zero == 2];
    IrMutation mutation(compiler, program, "zero", table);
    mutation.mutateCollectives();
    mutation.mutateTypes();
  }
  std::printf("%s", table.text().c_str());
  EXPECT_GT(table.mutants(), 1000);
  EXPECT_EQ(table.shareCaught(), 1);
}

TEST(IrMutationTest, VerifierRefusesMutantsOfWindowsMasksAndMasters) {
  InProcessCompiler compiler;
  MutationTable table;
  std::vector<Configuration> programs = mutatedFeaturePrograms(/*pp=*/1);
  for (const auto &[program, phase] : {std::pair(programs[0], "partitioned"), std::pair(programs[1], "zero")}) {
    IrMutation mutation(compiler, program, phase, table);
    mutation.mutateCollectives();
    mutation.mutateTypes();
  }
  std::printf("%s", table.text().c_str());
  EXPECT_GT(table.mutants(), 1000);
  EXPECT_EQ(table.shareCaught(), 1);
}

TEST(IrMutationTest, VerifierRefusesMutantsOfCanonicalReduction) {
  InProcessCompiler compiler;
  MutationTable table;
  for (const Configuration &program : mutatedCanonicalPrograms(/*pp=*/1)) {
    IrMutation mutation(compiler, program, "partitioned", table);
    mutation.mutateCollectives();
    mutation.mutateTypes();
  }
  std::printf("%s", table.text().c_str());
  EXPECT_GT(table.mutants(), 2000);
  EXPECT_EQ(table.shareCaught(), 1);
}
