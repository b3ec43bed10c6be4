//===- AxisNames.h - axes in messages ----------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_DIST_AXISNAMES_H
#define TGPT_DIALECTS_DIST_AXISNAMES_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace tgpt::dist {

/// `"dp", "tp"`, or `no axis`.
std::string quoted(mlir::ArrayRef<llvm::StringRef> axes);

} // namespace tgpt::dist

#endif // TGPT_DIALECTS_DIST_AXISNAMES_H
