//===- LedgerJson.h - the ledger for programs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_LEDGER_LEDGERJSON_H
#define TGPT_COMPILER_LEDGER_LEDGERJSON_H

#include "compiler/ledger/PlanComparison.h"
#include <nlohmann/json.hpp>

namespace tgpt {

/// All sizes in bytes.
nlohmann::ordered_json ledgerObject(const Ledger &ledger);
nlohmann::ordered_json comparisonObject(const std::vector<ComparedStage> &stages);

} // namespace tgpt

#endif // TGPT_COMPILER_LEDGER_LEDGERJSON_H
