//===- ValidationTest.cpp - tables, the split of their rows, and bounds on errors ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "validation/Constants.h"
#include "validation/CsvTable.h"
#include "validation/Summary.h"
#include <fstream>
#include <gtest/gtest.h>

using namespace tgpt::validation;

namespace {

/// A file of this test with the given text.
std::string write(const std::string &name, const std::string &text) {
  std::string path = testing::TempDir() + "tgpt-validation-" + name;
  std::ofstream(path) << text;
  return path;
}

std::string errorOf(const std::string &text) {
  std::string path = write("table.csv", text);
  try {
    for (const CsvRow &row : readCsv(path))
      row.number("seconds");
  } catch (const TableError &error) {
    return std::string(error.what()).substr(path.size());
  }
  return "";
}

TEST(ValidationTest, cellsMayBeQuoted) {
  std::vector<CsvRow> rows = readCsv(write("quoted.csv", "name,seconds\n\"a, \"\"b\"\"\nc\",1.5e-3\r\nd,\n"));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].text("name"), "a, \"b\"\nc");
  EXPECT_DOUBLE_EQ(rows[0].number("seconds"), 1.5e-3);
  EXPECT_FALSE(rows[1].has("seconds"));
  EXPECT_DOUBLE_EQ(rows[1].number("seconds", 7), 7);
  EXPECT_EQ(rows[1].text("absent"), "");
}

TEST(ValidationTest, aFaultNamesItsLine) {
  EXPECT_EQ(errorOf("name,seconds\na,1\n"), "");
  EXPECT_EQ(errorOf("name,seconds\na,1\nb,fast\n"), ":3: 'seconds' is 'fast', not a number");
  EXPECT_EQ(errorOf("name,seconds\na,1 s\n"), ":2: 'seconds' is '1 s', not a number");
  EXPECT_EQ(errorOf("name,seconds\na\n"), ":2: 1 cells, but the header has 2");
  EXPECT_EQ(errorOf("name,seconds\n\"a,1\n"), ":3: a quote is not closed");
  EXPECT_THROW(readCsv("/nonexistent/table.csv"), TableError);
}

TEST(ValidationTest, constantsAreNamedOnce) {
  std::string header = "name,value,unit,source\n";
  EXPECT_DOUBLE_EQ(Constants(write("one.csv", header + "a.b,2,s,x\n")).at("a.b"), 2);
  EXPECT_THROW(Constants(write("one.csv", header + "a.b,2,s,x\n")).at("a.c"), TableError);
  EXPECT_THROW(Constants(write("two.csv", header + "a.b,2,s,x\na.b,3,s,x\n")), TableError);
}

TEST(ValidationTest, theSplitIsFairAndFixed) {
  // Groups that differ in their last character fall on both sides.
  int heldOut = 0;
  for (int gpus = 0; gpus < 1000; ++gpus)
    heldOut += isHeldOut("12288 96 2048 A100 " + std::to_string(gpus));
  EXPECT_NEAR(heldOut, 500, 3 * 16); // three standard deviations of 1000 fair draws
  // The committed split: changing the hash would move rows into the fit.
  EXPECT_TRUE(isHeldOut("12288 96 2048 A100 768"));
  EXPECT_FALSE(isHeldOut("12288 96 2048 A100 64"));
}

Observation observation(const std::string &table, bool heldOut, double measured, double predicted) {
  return {table, "", "", "", heldOut, measured, predicted};
}

TEST(ValidationTest, boundsCatchWhatGotWorse) {
  std::vector<TableErrors> tables = errorsByTable(
      "step time", {observation("t", false, 10, 11), observation("t", true, 10, 8), observation("u", true, 1, 1)});
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_NEAR(tables[0].all.mean, 0.15, 1e-12);
  EXPECT_NEAR(tables[0].all.worst, 0.2, 1e-12);
  EXPECT_NEAR(tables[0].heldOut.mean, 0.2, 1e-12);
  std::ostringstream bounds;
  printBounds(bounds, tables);
  std::string path = write("bounds.csv", bounds.str());
  EXPECT_TRUE(exceeded(path, tables).empty());

  std::vector<TableErrors> worse = tables;
  worse[0].all.mean = 0.16;
  ASSERT_EQ(exceeded(path, worse).size(), 1u);
  EXPECT_NE(exceeded(path, worse)[0].find("'t': mean_per_cent is 16.0"), std::string::npos);
  worse = tables;
  worse[0].heldOut.rows = 2; // a row moved out of the fit
  EXPECT_EQ(exceeded(path, worse).size(), 1u);
  EXPECT_EQ(exceeded(path, {tables[0]}).size(), 1u); // a table is gone
  worse = tables;
  worse[1].table = "v";
  EXPECT_EQ(exceeded(path, worse).size(), 2u);
}

} // namespace
