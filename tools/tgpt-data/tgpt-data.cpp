//===- tools/tgpt-data/tgpt-data.cpp - packs raw text into a token file --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/TextPacking.h"

#include <CLI/CLI.hpp>
#include <iostream>

using namespace tgpt::runtime;

static constexpr const char *examples = R"(
Examples:
  tgpt-data corpus.txt -o corpus.bin          pack one text, a token a byte
  tgpt-data part1.txt part2.txt -o corpus.bin pack several, one after the other
  zcat text.gz | tgpt-data - -o corpus.bin    pack what another program writes
  tgpt-data --info corpus.bin                 say what a token file holds

The output is llm.c's format: 256 int32 of header, then uint16 tokens (ids 0-255).
Train on it with a model whose vocabulary is 256 or more:
  tgpt-run compiled.bin --data=corpus.bin --steps=200
)";

static int run(int argc, char **argv) {
  CLI::App app("Packs raw text into a token file with the byte tokenizer (vocabulary 256).", "tgpt-data");
  app.footer(examples);
  app.set_version_flag("--version", "tgpt-data " TGPT_VERSION);
  std::vector<std::filesystem::path> texts;
  std::filesystem::path output, described;
  CLI::Option *inputs =
      app.add_option("texts", texts, "text files, packed in the order given; - is stdin")->type_name("FILE");
  CLI::Option *out =
      app.add_option("-o,--output", output, "token file to write; appears whole or not at all")->type_name("FILE");
  CLI::Option *info = app.add_option("--info", described, "print what this token file holds")->type_name("FILE");
  info->excludes(inputs)->excludes(out);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &asked) { // help or version
    return app.exit(asked);
  } catch (const CLI::ParseError &error) {
    throw std::runtime_error(std::string(error.what()) + " (see tgpt-data --help)");
  }

  if (*info) {
    std::cout << describeTokenFile(described);
    return 0;
  }
  if (texts.empty() || output.empty())
    throw std::runtime_error(texts.empty() ? "no text given (see --help)" : "no output given: add -o corpus.bin");
  int64_t tokens = packTexts(texts, output);
  std::cout << output.string() << ": " << tokens << " tokens, vocabulary " << byteVocabulary << "\n";
  return 0;
}

int main(int argc, char **argv) try { return run(argc, argv); } catch (const std::exception &error) {
  std::cerr << "tgpt-data: error: " << error.what() << "\n";
  return 1;
}
