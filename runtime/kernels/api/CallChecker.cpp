//===- CallChecker.cpp - the vocabulary of shape checks -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/CallChecker.h"
#include "runtime/kernels/api/SumTree.h"
#include "runtime/kernels/api/TypeDispatch.h"

#include <cmath>
#include <limits>

using namespace tgpt::runtime;

/// "[4,512,384]".
static std::string describe(const TensorView &view) {
  std::string text = "[";
  for (size_t i = 0; i < view.rank; ++i)
    text += (i ? "," : "") + std::to_string(view.shape[i]);
  return text + "]";
}

CallChecker::CallChecker(const KernelCall &call, size_t minInputs, size_t maxInputs, size_t outputs,
                         int64_t accumulable)
    : call(call) {
  checkCounts(minInputs, maxInputs, outputs);
  for (size_t i = 0; i < call.inputs.size(); ++i)
    checkOperand(input(i));
  for (size_t i = 0; i < call.outputs.size(); ++i)
    checkOperand(output(i));
  if (failed())
    return;
  if (int64_t mask = call.attributes->integer("accumulate"); mask & ~accumulable)
    fail("attribute accumulate is " + std::to_string(mask) + ", the kernel can accumulate into outputs " +
         std::to_string(accumulable) + " (a bit mask)");
}

void CallChecker::checkCounts(size_t minInputs, size_t maxInputs, size_t outputs) {
  if (!call.attributes)
    return fail("call has no attributes object");
  if (call.inputs.size() < minInputs || call.inputs.size() > maxInputs) {
    std::string expected = std::to_string(minInputs);
    if (maxInputs > minInputs)
      expected = maxInputs == SIZE_MAX ? "at least " + expected : expected + " to " + std::to_string(maxInputs);
    return fail(std::to_string(call.inputs.size()) + " inputs, expected " + expected);
  }
  if (call.outputs.size() != outputs)
    fail(std::to_string(call.outputs.size()) + " outputs, expected " + std::to_string(outputs));
}

void CallChecker::checkOperand(Operand operand) {
  if (failed())
    return;
  const TensorView &v = view(operand);
  if (!v.data)
    return fail(operand, "has no data");
  if (v.rank > TensorView::maxRank)
    return fail(operand, "rank " + std::to_string(v.rank) + " is above " + std::to_string(TensorView::maxRank));
  int64_t elements = 1;
  for (size_t i = 0; i < v.rank; ++i) {
    if (v.shape[i] < 1)
      return fail(operand, "shape " + describe(v) + " has a dimension below 1");
    if (v.shape[i] > std::numeric_limits<int64_t>::max() / 8 / elements)
      return fail(operand, "shape " + describe(v) + " has more elements than 64 bits count");
    elements *= v.shape[i];
  }
}

void CallChecker::fail(std::string what) {
  if (message.empty())
    message = std::move(what);
}

void CallChecker::fail(Operand operand, std::string what) {
  fail((operand.isOutput ? "output " : "input ") + std::to_string(operand.index) + ": " + what);
}

bool CallChecker::has(Operand operand) const {
  return operand.index < (operand.isOutput ? call.outputs.size() : call.inputs.size());
}

const TensorView &CallChecker::view(Operand operand) const {
  return (operand.isOutput ? call.outputs : call.inputs)[operand.index];
}

int64_t CallChecker::dim(Operand operand, int i) const {
  return failed() ? 0 : view(operand).dim(i);
}
int64_t CallChecker::rank(Operand operand) const {
  return failed() ? 0 : view(operand).rank;
}
int64_t CallChecker::elements(Operand operand) const {
  return failed() ? 0 : view(operand).elements();
}

void CallChecker::typeIs(Operand operand, DType expected) {
  if (!failed() && view(operand).dtype != expected)
    fail(operand, "dtype is " + std::string(name(view(operand).dtype)) + ", expected " + std::string(name(expected)));
}

void CallChecker::computeType(std::initializer_list<Operand> operands) {
  if (failed())
    return;
  realType(*operands.begin());
  if (failed())
    return;
  compute = view(*operands.begin()).dtype;
  for (Operand operand : operands)
    typeIs(operand, compute);
}

void CallChecker::accumulatorType(std::initializer_list<Operand> operands) {
  for (Operand operand : operands)
    typeIs(operand, accumulatorOf(compute));
}

void CallChecker::indexType(Operand operand) {
  typeIs(operand, DType::I32);
}

void CallChecker::realType(Operand operand) {
  if (!failed() && view(operand).dtype == DType::I32)
    fail(operand, "dtype is i32, expected f64, f32, bf16 or f16");
}

void CallChecker::sameType(Operand operand, Operand as) {
  if (!failed())
    typeIs(operand, view(as).dtype);
}

void CallChecker::minRank(Operand operand, int64_t least) {
  if (!failed() && view(operand).rank < least)
    fail(operand, "rank is " + std::to_string(view(operand).rank) + ", expected at least " + std::to_string(least));
}

/// A view's shape as a plain list, for comparisons.
static std::span<const int64_t> dims(const TensorView &view) {
  return {view.shape.data(), view.rank};
}

static TensorView withShape(std::span<const int64_t> shape) {
  TensorView view;
  view.rank = uint8_t(shape.size());
  std::copy(shape.begin(), shape.end(), view.shape.begin());
  return view;
}

static bool sameDims(const TensorView &a, const TensorView &b) {
  return std::equal(dims(a).begin(), dims(a).end(), dims(b).begin(), dims(b).end());
}

void CallChecker::sameShape(Operand operand, Operand as) {
  if (!failed() && !sameDims(view(operand), view(as)))
    fail(operand, "shape is " + describe(view(operand)) + ", expected " + describe(view(as)));
}

void CallChecker::rowsShape(Operand operand, Operand as) {
  minRank(as, 1);
  if (failed())
    return;
  TensorView expected = withShape(dims(view(as)).first(view(as).rank - 1));
  if (!sameDims(view(operand), expected))
    fail(operand, "shape is " + describe(view(operand)) + ", expected " + describe(expected));
}

void CallChecker::trailingShape(Operand operand, Operand of) {
  if (failed())
    return;
  if (view(operand).rank > view(of).rank)
    return fail(operand, "shape " + describe(view(operand)) + " is no suffix of " + describe(view(of)));
  if (!sameDims(view(operand), withShape(dims(view(of)).last(view(operand).rank))))
    fail(operand, "shape " + describe(view(operand)) + " is no suffix of " + describe(view(of)));
}

void CallChecker::shape(Operand operand, std::initializer_list<int64_t> expected) {
  if (failed())
    return;
  TensorView wanted = withShape({expected.begin(), expected.size()});
  if (!sameDims(view(operand), wanted))
    fail(operand, "shape is " + describe(view(operand)) + ", expected " + describe(wanted));
}

void CallChecker::dimIs(Operand operand, int i, int64_t expected) {
  minRank(operand, i < 0 ? -i : i + 1);
  if (!failed() && dim(operand, i) != expected)
    fail(operand, (i == -1 ? "last dimension" : "dimension " + std::to_string(i)) + " is " +
                      std::to_string(dim(operand, i)) + ", expected " + std::to_string(expected));
}

void CallChecker::scalar(Operand operand) {
  if (!failed() && view(operand).elements() != 1)
    fail(operand, "shape is " + describe(view(operand)) + ", expected a scalar");
}

void CallChecker::requireInteger(std::string_view name, int64_t least, int64_t most) {
  if (failed())
    return;
  constexpr int64_t absent = std::numeric_limits<int64_t>::min();
  int64_t value = call.attributes->integer(name, absent);
  if (value == absent)
    fail("attribute " + std::string(name) + " (integer) is missing");
  else
    optionalInteger(name, least, most);
}

void CallChecker::optionalInteger(std::string_view name, int64_t least, int64_t most) {
  if (failed())
    return;
  int64_t value = call.attributes->integer(name);
  if (value < least || value > most)
    fail("attribute " + std::string(name) + " is " + std::to_string(value) + ", expected " +
         (value < least ? "at least " + std::to_string(least) : "at most " + std::to_string(most)));
}

void CallChecker::optionalChunks(int64_t count, std::string_view what) {
  optionalInteger("chunks", 0, mostSumTreeAddends);
  int64_t chunks = integer("chunks");
  if (!failed() && chunks > 0 && count % chunks != 0)
    fail("attribute chunks is " + std::to_string(chunks) + ", which does not divide the " + std::to_string(count) +
         " " + std::string(what));
  chunkRange();
}

void CallChecker::chunkRange() {
  optionalInteger("parts", 0, mostSumTreeAddends);
  optionalInteger("nodes", 0, 1);
  if (failed())
    return;
  int64_t chunks = std::max<int64_t>(integer("chunks"), 1), parts = integer("parts");
  if (parts > 0)
    optionalInteger("part", 0, parts - 1);
  if (parts > 0 && chunks % parts != 0)
    fail("attribute parts is " + std::to_string(parts) + ", which does not divide the " + std::to_string(chunks) +
         " chunks");
  optionalInteger("node", 0, mostSumTreeAddends);
  optionalInteger("first_chunk", 0, INT64_MAX - mostSumTreeAddends);
  if (!failed() && integer("nodes") > 0 && integer("first_chunk") % chunks != 0)
    fail("attribute first_chunk is " + std::to_string(integer("first_chunk")) + ", no multiple of the " +
         std::to_string(chunks) + " chunks of a rank");
}

void CallChecker::requireReal(std::string_view name) {
  if (!failed() && std::isnan(call.attributes->real(name, std::nan(""))))
    fail("attribute " + std::string(name) + " (real) is missing or not a number");
}

int64_t CallChecker::integer(std::string_view name, int64_t otherwise) const {
  return failed() ? otherwise : call.attributes->integer(name, otherwise);
}
