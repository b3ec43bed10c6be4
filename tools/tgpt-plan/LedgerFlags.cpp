//===- tools/tgpt-plan/LedgerFlags.cpp - the options of tgpt-plan ledger ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/tgpt-plan/LedgerFlags.h"
#include <cmath>
#include <stdexcept>

using namespace tgpt;

static constexpr const char *examples = R"(
Examples:
  tgpt-plan ledger --parameters=7e9 --dp=8
  tgpt-plan ledger recipes/models/llama2-7b.yaml --tp=2 --sp --dp=8 --zero=1
  tgpt-plan ledger recipes/models/llama2-7b.yaml --kv-heads=8 --kv-batch=16 --kv-dtype=fp16
  tgpt-plan ledger --layers=48 --hidden=6144 --heads=64 --sequence=2048 --vocab=51200 --dropout --attention=stored --micro-batch=4 --tp=8
  tgpt-plan ledger recipes/models/nano.yaml --plan=compiled.bin

Formulas for mixed precision: weights and activations of 16 bits, AdamW states of 32.
With --plan the degrees are those of the plan, and each difference is explained.
)";

/// An option with a few values.
static void addChoice(CLI::App &command, const std::string &name, std::string &target, const std::string &values,
                      const std::string &description) {
  auto choose = [&target, name, values](const std::string &text) {
    if (text.empty() || ("|" + values + "|").find("|" + text + "|") == std::string::npos)
      throw CLI::ValidationError(name, "'" + text + "' is unknown, expected " + values);
    target = text;
  };
  command.add_option_function<std::string>(name, choose, description)->type_name(values)->default_str(target);
}

/// A number, or thousands, millions, billions or trillions of them.
static double readParameters(const std::string &text) {
  std::size_t end = 0;
  double number = 0;
  try {
    number = std::stod(text, &end);
  } catch (const std::logic_error &) {
    end = 0; // none, or none that a double holds
  }
  const std::string suffixes = "KMBT";
  std::size_t suffix = end + 1 == text.size() ? suffixes.find(text.back()) : std::string::npos;
  if (end == 0 || (end != text.size() && suffix == std::string::npos))
    throw CLI::ValidationError("--parameters", "'" + text + "' is no number, expected one such as 7e9 or 7B");
  return suffix == std::string::npos ? number : std::round(number * std::pow(1e3, static_cast<double>(suffix + 1)));
}

static void addShapeOptions(CLI::App &command, LedgerFlags &flags) {
  command.add_option("model", flags.model, "recipe of a model (recipes/models); options replace its figures")
      ->type_name("RECIPE.yaml");
  command
      .add_option_function<std::string>(
          "--parameters", [&flags](const std::string &text) { flags.parameters = readParameters(text); },
          "parameters alone, in place of a shape: 7e9, or 7B (K, M, B, T)")
      ->type_name("NUMBER");
  command.add_option("--layers", flags.layers, "layers")->type_name("NUMBER");
  command.add_option("--hidden", flags.hidden, "width of the residual stream")->type_name("NUMBER");
  command.add_option("--heads", flags.heads, "query heads")->type_name("NUMBER");
  command.add_option("--kv-heads", flags.kvHeads, "key-value heads (default: --heads)")->type_name("NUMBER");
  command.add_option("--head-dim", flags.headDim, "elements of a head (default: --hidden / --heads)")
      ->type_name("NUMBER");
  command.add_option("--ffn", flags.ffn, "width inside the MLP (default: 4 x --hidden)")->type_name("NUMBER");
  command.add_option("--vocab", flags.vocabulary, "vocabulary (default: 0, no embedding and no head)")
      ->type_name("NUMBER");
  command.add_option("--sequence", flags.sequence, "tokens of a sequence")->type_name("NUMBER");
  command
      .add_option_function<std::string>(
          "--family",
          [&flags](const std::string &text) {
            if (text != "gpt2" && text != "llama")
              throw CLI::ValidationError("--family", "'" + text + "' is unknown, expected gpt2|llama");
            flags.family = text;
          },
          "gpt2: biases, layer norms, GELU, learned positions (default); llama: SwiGLU, RMS norms, no biases")
      ->type_name("gpt2|llama");
  command.add_option("--tied", flags.tied, "whether the head has the embedding's table (default: gpt2 has)");
  command.add_flag("--dropout", flags.dropout, "with dropout, whose masks are kept");
  command.add_flag("--qk-norm", flags.qkNorm, "with RMS norms of query and key heads, whose inputs are kept");
}

static void addRunOptions(CLI::App &command, LedgerFlags &flags) {
  command.add_option("--dp", flags.dp, "data-parallel ranks")->type_name("NUMBER")->capture_default_str();
  command.add_option("--tp", flags.tp, "tensor-parallel ranks")->type_name("NUMBER")->capture_default_str();
  command.add_option("--pp", flags.pp, "pipeline stages")->type_name("NUMBER")->capture_default_str();
  command.add_option("--vpp", flags.vpp, "model chunks of each stage")->type_name("NUMBER")->capture_default_str();
  addChoice(command, "--schedule", flags.schedule, "gpipe|1f1b|zero-bubble", "of the pipeline");
  command.add_flag("--sp", flags.sequenceParallel, "sequence parallelism: norms and residuals are divided by tp too");
  command.add_option("--zero", flags.zero, "what dp ranks share out: 1 optimizer states, 2 gradients too, 3 all")
      ->type_name("NUMBER")
      ->capture_default_str();
  command.add_option("--zero-group", flags.zeroGroup, "dp ranks that share out (default: all)")->type_name("NUMBER");
  addChoice(command, "--recompute", flags.recompute, "none|attention|selective|full",
            "attention: its core, selective: norms and activation too, full: all but the layer's input");
  command.add_option("--micro-batch", flags.microBatch, "sequences of a micro-batch")
      ->type_name("NUMBER")
      ->capture_default_str();
  command.add_option("--micro-batches", flags.microBatches, "of a step (default: as many as fill the pipeline)")
      ->type_name("NUMBER");
  addChoice(command, "--attention", flags.attention, "fused|stored",
            "stored: scores and probabilities are kept, as in arXiv 2205.05198");
  addChoice(command, "--gradients", flags.gradients, "16|32", "bits of an accumulated gradient");
}

static constexpr const char *trainingGroup = "Training";

void tgpt::refuseDegreesBesidePlan(const CLI::App &command) {
  for (const CLI::Option *option : command.get_options())
    if (option->get_group() == trainingGroup && option->count() > 0 && option->get_name() != "--gradients")
      throw std::runtime_error(option->get_name() + " is given beside --plan, which has its own: leave it out");
}

void tgpt::addLedgerOptions(CLI::App &command, LedgerFlags &flags) {
  command.footer(examples);
  command.option_defaults()->group("Model");
  addShapeOptions(command, flags);
  command.option_defaults()->group(trainingGroup);
  addRunOptions(command, flags);
  command.option_defaults()->group("Decoding");
  command.add_option("--kv-batch", flags.kvBatch, "sequences of the KV cache (default: --micro-batch)")
      ->type_name("NUMBER");
  command.add_option("--kv-tokens", flags.kvTokens, "tokens of each (default: --sequence)")->type_name("NUMBER");
  addChoice(command, "--kv-dtype", flags.kvType, "f32|bf16|fp16|fp8|int8|int4", "of keys and values");
  command.option_defaults()->group("Report");
  command.add_option("--plan", flags.plan, "compiled plan to print beside, with each difference explained")
      ->type_name("FILE");
  addChoice(command, "--format", flags.format, "text|json", "of the output");
}
