//===- MemoryReportFormatsTest.cpp - the report as text, JSON and a page ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/report/MemoryReport.h"
#include "compiler/report/TextTable.h"
#include "test/unit/compiler/SmallPlan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tgpt;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using tgpt::test::smallPlan;

TEST(MemoryReport, DetailsAddUp) {
  plan::Plan plan = smallPlan();
  MemoryReport report = memoryReportOf(plan);
  EXPECT_THAT(memoryReportText(report, {.by = "layer"}),
              HasSubstr("layers.0    1.95 KiB   3.91 KiB   11.7 KiB     2.93 KiB"));
  EXPECT_THAT(memoryReportText(report, {.by = "op"}), HasSubstr("mlp.up.linear  small.mlir:7:3"));
  EXPECT_THAT(memoryReportText(report, {.by = "", .top = 1}),
              HasSubstr("largest buffers at the peak of each stage:\n"));
}

TEST(MemoryReport, BudgetSaysWhatIsLeft) {
  plan::Plan plan = smallPlan();
  MemoryReport report = memoryReportOf(plan);
  report.budget = {
      "toy", 32 << 10, {{"device context", 4 << 10, "toy.yaml:3"}, {"communicators", 1 << 10, "2 of them"}}};
  EXPECT_THAT(memoryReportText(report),
              HasSubstr("outside of the plan on toy: 5.00 KiB (device context 4.00 KiB, communicators "
                        "1.00 KiB); of 32.0 KiB are left 5.62 KiB on stage 0\n"));
  report.budget.bytes = 16 << 10;
  EXPECT_THAT(memoryReportText(report), HasSubstr("of 16.0 KiB are missing 10.4 KiB on stage 0\n"));
}

// The times of a simulation are taken as they are; without one the lengths are operations.
TEST(MemoryReport, ScheduleHasTheTimesThatAreGiven) {
  plan::Plan plan = smallPlan();
  MemoryReport report = memoryReportOf(plan);
  auto entry = [&] {
    nlohmann::json json = nlohmann::json::parse(memoryReportJson(report));
    nlohmann::json begin = json["stages"][0]["timeline"]["entries"][1][4];
    return std::pair(json["schedule_unit"].get<std::string>(), begin.get<int64_t>());
  };
  EXPECT_EQ(entry(), std::pair(std::string("operations"), int64_t(100)));
  report.entryTimes = {std::vector<EntryTime>(plan.stages(0).schedule_size(), EntryTime{7e9, 8e9})};
  EXPECT_EQ(entry(), std::pair(std::string("nanoseconds"), int64_t(7000000000)));
}

TEST(MemoryReport, WhatIfComparesWithThePlan) {
  plan::Plan plan = smallPlan();
  MemoryReport report = memoryReportOf(plan);
  report.whatIf = {whatIfOf(report, "as it is"), whatIfOf(report, "--recompute=full")};
  report.whatIf[1].arenaBytes -= 2048;
  report.whatIf[1].flops += 90;
  WhatIf &refused = report.whatIf.emplace_back();
  refused.change = "--zero=1";
  refused.refusal = "because";
  std::string text = memoryReportText(report);
  EXPECT_THAT(text, HasSubstr("--recompute=full       19.4 KiB  +2.00 KiB           +10.0%"));
  EXPECT_THAT(text, HasSubstr("  --zero=1 is not possible: because\n"));
}

TEST(MemoryReport, TextNamesEveryCategory) {
  plan::Plan plan = smallPlan();
  EXPECT_THAT(
      memoryReportText(memoryReportOf(plan)),
      AllOf(StartsWith("memory of each rank of small, dp=3 pp=1 tp=2\n"
                       "  stage  ranks  parameters  gradients  optimizer  activations  = slots x bytes  scratch  "
                       "communication  workspace     total  peak live  total/live\n"
                       "      0      6    2.00 KiB   4.00 KiB   11.8 KiB     3.00 KiB     2 x 1.50 KiB    640 B  "
                       "          0 B        0 B  21.4 KiB   21.1 KiB      1.0146\n"
                       "largest: stage 0 with 21888 B a rank; one slot holds what a micro-batch in flight keeps "
                       "for its backward\n"),
            EndsWith("  stage 0: 2N + 4N + 12N with N = 1000 is 17.6 KiB, planned 17.8 KiB (176 B more: metrics "
                     "and alignment)\n")));
}

TEST(MemoryReport, StagesAlikeShareALedgerLine) {
  plan::Plan plan = smallPlan();
  for (int i = 1; i < 3; ++i) {
    *plan.add_stages() = plan.stages(0);
    plan.mutable_stages(i)->set_stage(i);
  }
  std::string text = memoryReportText(memoryReportOf(plan));
  EXPECT_NE(text.find("  stages 0-2: 2N"), std::string::npos) << text;
}

TEST(MemoryReport, JsonHoldsBytes) {
  plan::Plan plan = smallPlan();
  nlohmann::json json = nlohmann::json::parse(memoryReportJson(memoryReportOf(plan)));
  const nlohmann::json &stage = json["stages"][0];
  EXPECT_EQ(stage["activations"]["bytes"], 3072);
  EXPECT_EQ(stage["activations"]["live_bytes"], 3000);
  EXPECT_EQ(stage["ledger_state_bytes"], 18000);
  EXPECT_EQ(stage["peak"]["bytes"], 2000 + 4004 + 11968 + 3000 + 600);
  EXPECT_EQ(stage["timeline"]["segments"][1]["scratch_bytes"], nlohmann::json({600}));
  EXPECT_EQ(stage["timeline"]["entries"].size(), 6u);
  EXPECT_EQ(stage["timeline"]["entries"][1], nlohmann::json({0, 1, 1500, 2, 100, 200}));
}

TEST(MemoryReport, JsonEscapesTheModelName) {
  plan::Plan plan;
  plan.set_model_name("a\"b\\c\n");
  EXPECT_EQ(nlohmann::json::parse(memoryReportJson(memoryReportOf(plan)))["model"], "a\"b\\c\n");
}

// A name that would end the script element stands in the page without ending it.
TEST(MemoryReport, PageHoldsTheReport) {
  plan::Plan plan = smallPlan();
  plan.set_model_name("</script><script>alert(1)");
  std::string page = memoryReportHtml(memoryReportOf(plan));
  EXPECT_THAT(page, HasSubstr("{\"model\":\"\\u003c/script>\\u003cscript>alert(1)\""));
  EXPECT_THAT(page, Not(HasSubstr("</script><script>alert")));
  for (const char *mark : {"/* STYLE */", "/* SCRIPT */", "/* REPORT */", "http://localhost", "src=", "@import"})
    EXPECT_THAT(page, Not(HasSubstr(mark)));
}

TEST(BytesText, HasThreeDigits) {
  EXPECT_EQ(bytesText(0), "0 B");
  EXPECT_EQ(bytesText(1023), "1023 B");
  EXPECT_EQ(bytesText(1536), "1.50 KiB");
  EXPECT_EQ(bytesText(20 << 20), "20.0 MiB");
  EXPECT_EQ(bytesText(int64_t(114) << 30), "114 GiB");
}
