//===- GanttSvg.cpp - what each stage does when, as a drawing ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One self-contained file: no scripts, no fonts, nothing fetched.
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/Gantt.h"

#include <cstdio>

using namespace tgpt;
using namespace tgpt::runtime::sim;

static constexpr double width = 1200, rowHeight = 26, labelWidth = 70, top = 40;

static std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text)
    result += static_cast<unsigned char>(c) < ' ' ? "?"
              : c == '<'                          ? "&lt;"
              : c == '>'                          ? "&gt;"
              : c == '&'                          ? "&amp;"
              : c == '"'                          ? "&quot;"
                                                  : std::string(1, c);
  return result;
}

/// Chunks of a stage are shades of its direction's colour.
static std::string colourOf(const plan::Segment &segment) {
  int hue = 0, saturation = 60;
  switch (segment.kind()) {
  case plan::Segment::FORWARD: hue = 212; break;
  case plan::Segment::BACKWARD: hue = 150; break;
  case plan::Segment::WEIGHT_GRADIENT: hue = 40; break;
  case plan::Segment::UPDATE: hue = 350; break;
  default: saturation = 0; break;
  }
  int lightness = 56 + static_cast<int>(segment.chunk() % 4) * 9;
  return "hsl(" + std::to_string(hue) + "," + std::to_string(saturation) + "%," + std::to_string(lightness) + "%)";
}

static std::string boxOf(const plan::StageProgram &stage, int entryIndex, const EntrySeconds &seconds, double scale) {
  const plan::ScheduleEntry &entry = stage.schedule(entryIndex);
  const plan::Segment &segment = stage.segments(static_cast<int>(entry.segment()));
  double x = labelWidth + seconds.begin * scale, boxWidth = (seconds.end - seconds.begin) * scale;
  double y = top + static_cast<double>(stage.stage()) * rowHeight;
  char text[512];
  std::snprintf(text, sizeof text, R"(<rect x="%.2f" y="%.1f" width="%.2f" height="%.1f" fill="%s"><title>)", x, y,
                boxWidth, rowHeight - 4, colourOf(segment).c_str());
  std::string box = text + escaped(segment.name());
  std::string number = entry.micro_batch() < 0 ? "" : std::to_string(entry.micro_batch());
  std::snprintf(text, sizeof text, "%s%s, %.4f to %.4f ms</title></rect>", number.empty() ? "" : ", micro-batch ",
                number.c_str(), 1e3 * seconds.begin, 1e3 * seconds.end);
  box += text;
  if (boxWidth > 7 * static_cast<double>(number.size()) + 4 && !number.empty()) {
    std::snprintf(text, sizeof text, R"(<text x="%.2f" y="%.1f" text-anchor="middle">%s</text>)", x + boxWidth / 2,
                  y + 15, number.c_str());
    box += text;
  }
  return box + "\n";
}

std::string tgpt::runtime::sim::ganttSvg(const plan::Plan &plan, const SimulatedStep &step) {
  double end = step.seconds - step.overheadSeconds, scale = end > 0 ? (width - labelWidth - 10) / end : 0;
  double height = top + rowHeight * plan.stages_size() + 10;
  char text[512];
  std::snprintf(text, sizeof text,
                R"(<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" )"
                R"(font-family="sans-serif" font-size="11">)"
                "\n",
                width, height, width, height);
  std::string svg = text;
  svg += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  std::snprintf(text, sizeof text,
                "%.3f ms a step, bubble %.1f%%, MFU %.1f%%: forward blue, backward green, "
                "weight gradients yellow, update red",
                1e3 * step.seconds, 100 * step.bubble(), 100 * step.modelFlopsShare);
  svg += "<text x=\"10\" y=\"22\" font-size=\"14\">" + escaped(plan.model_name()) + ": " + text + "</text>\n";
  for (int s = 0; s < plan.stages_size(); ++s) {
    std::snprintf(text, sizeof text, R"(<text x="10" y="%.1f">stage %d</text>)", top + s * rowHeight + 15, s);
    svg += std::string(text) + "\n";
    for (int entry = 0; entry < plan.stages(s).schedule_size(); ++entry)
      svg += boxOf(plan.stages(s), entry, step.stages[s].entries[entry], scale);
  }
  return svg + "</svg>\n";
}
