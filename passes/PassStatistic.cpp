//===- PassStatistic.cpp - what a pass counted ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/PassStatistic.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <deque>
#include <mutex>
#include <vector>

using namespace tgpt;

namespace {

struct Entry {
  std::string pass, name, description;
  std::atomic<uint64_t> count{0};
  uint64_t order = 0; ///< when the last pass with it was made: registering makes one, a pipeline another

  Entry(llvm::StringRef pass, const char *name, const char *description)
      : pass(pass), name(name), description(description) {}
};

/// All statistics of the process; entries never move.
struct Table {
  std::mutex mutex;
  std::deque<Entry> entries;
  uint64_t made = 0;

  Entry &find(llvm::StringRef pass, const char *name, const char *description) {
    for (Entry &entry : entries)
      if (entry.pass == pass && entry.name == name)
        return entry;
    return entries.emplace_back(pass, name, description);
  }
};

Table &table() {
  static Table instance;
  return instance;
}

} // namespace

PassStatistic::PassStatistic(mlir::Pass *pass, const char *name, const char *description) {
  std::lock_guard lock(table().mutex);
  Entry &entry = table().find(pass->getArgument(), name, description);
  entry.order = table().made++;
  count = &entry.count;
}

void tgpt::printPassStatistics(llvm::raw_ostream &stream) {
  std::lock_guard lock(table().mutex);
  std::vector<const Entry *> entries;
  for (const Entry &entry : table().entries)
    if (llvm::any_of(table().entries, [&](const Entry &other) { return other.pass == entry.pass && other.count != 0; }))
      entries.push_back(&entry);
  llvm::sort(entries, [](const Entry *left, const Entry *right) { return left->order < right->order; });
  llvm::StringRef printed;
  for (const Entry *entry : entries) {
    if (printed != entry->pass)
      stream << entry->pass << "\n";
    printed = entry->pass;
    stream << llvm::format("%12llu  %-26s %s\n", static_cast<unsigned long long>(entry->count), entry->name.c_str(),
                           entry->description.c_str());
  }
}
