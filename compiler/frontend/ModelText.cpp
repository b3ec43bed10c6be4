//===- ModelText.cpp - writes model.mlir -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/ModelText.h"
#include "compiler/frontend/ModelParameters.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <vector>

using namespace tgpt;

// Shortest form that reads back as the same double, always with the point that MLIR wants.
static std::string floatLiteral(double number) {
  char buffer[32];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
  if (text.find('.') == std::string::npos)
    text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

static std::string tensorType(const std::vector<int64_t> &shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

static std::string symbol(const std::string &name) {
  bool isBare = name.find_first_of("*-") == std::string::npos && (std::isalpha(name[0]) || name[0] == '_');
  return isBare ? "@" + name : "@\"" + name + "\"";
}

static std::string withThousands(int64_t number) {
  std::string digits = std::to_string(number);
  for (int64_t i = int64_t(digits.size()) - 3; i > 0; i -= 3)
    digits.insert(i, ",");
  return digits;
}

static std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

namespace {

class ModelWriter {
public:
  explicit ModelWriter(const ModelRecipe &recipe)
      : recipe(recipe), llama(recipe.family == ModelFamily::Llama), parameters(modelParameters(recipe)) {}

  std::string write() {
    writeHeader();
    writeTypeNames();
    out << "module " << symbol(recipe.name) << " {\n";
    writeParameters();
    writeFunction();
    out << "}\n";
    return out.str();
  }

private:
  void writeHeader();
  void writeTypeNames();
  void writeParameters();
  void writeFunction();
  std::string writeEmbedding();
  void writeAttention();
  void writeMlp();
  void writeHead();

  // Each of these writes the ops of one step and names the result. They read the
  // parameters they need just before use.
  void writeNorm(const std::string &result, const std::string &input, const std::string &parameter);
  void writeLinear(const std::string &result, const std::string &resultType, const std::string &input,
                   const std::string &inputType, const std::string &parameter);
  void writeHeadNorm(const std::string &result, const std::string &input, const std::string &type,
                     const std::string &parameter);
  void writeRope(const std::string &result, const std::string &input, const std::string &type);
  /// Drops elements of `input` where the recipe asks for it; returns what to use from there on.
  std::string writeDropout(const std::string &result, const std::string &input, const std::string &stream);
  std::string writeRead(const std::string &parameter);

  /// Whether some op drops elements, and so asks for samples and step.
  bool hasDropout() const { return recipe.dropout > 0 || recipe.attentionDropout > 0; }
  std::ostream &line() { return out << indent; }
  void comment(const std::string &text) { line() << "// " << text << "\n"; }
  std::string typeOf(const std::string &parameter) const;

  const ModelRecipe &recipe;
  bool llama;
  std::vector<ModelParameter> parameters;
  std::ostringstream out;
  std::string indent = "  ";
};

} // namespace

std::string ModelWriter::typeOf(const std::string &parameter) const {
  for (const ModelParameter &candidate : parameters)
    if (candidate.name == parameter)
      return tensorType(candidate.shape);
  throw std::logic_error("no parameter " + parameter);
}

void ModelWriter::writeHeader() {
  out << "// " << recipe.name << ": a GPT of the " << (llama ? "LLaMA" : "GPT-2") << " family with "
      << withThousands(parameterCount(recipe)) << " parameters.\n"
      << "//\n"
      << "//   " << recipe.layers << " layers of width " << recipe.width << ", " << recipe.heads << " heads of "
      << recipe.headDim() << " elements, " << recipe.kvHeads << " KV heads, " << (llama ? "SwiGLU" : "GELU")
      << " MLP of " << recipe.ffn << "\n"
      << "//   vocabulary " << recipe.vocabulary << " (embedding and head "
      << (recipe.tiedEmbeddings ? "tied" : "untied") << "), sequences of " << recipe.sequenceLength << " tokens\n"
      << "//   " << (llama ? "RMSNorm, rotary positions, no biases" : "LayerNorm, learned positions, biases")
      << (recipe.qkNorm ? ", normalised queries and keys" : "") << "\n";
  if (recipe.attentionDropout > 0)
    out << "//   dropout of " << floatLiteral(recipe.attentionDropout) << " of the attention probabilities\n";
  if (recipe.dropout > 0)
    out << "//   dropout of " << floatLiteral(recipe.dropout) << " after the embedding, attention and MLP\n";
  out << "//\n"
      << "// The model of one device: the batch is open (?) and the block is written once.\n"
      << "// tgpt-opt turns it into a plan for many.\n\n";
}

void ModelWriter::writeTypeNames() {
  std::string sequence = std::to_string(recipe.sequenceLength);
  std::string rows = "tensor<?x" + sequence + "x";
  auto name = [&](const std::string &alias, const std::string &type, const std::string &meaning) {
    out << padded(alias, 8) << " = " << padded(type, 27) << " // " << meaning << "\n";
  };
  name("!tokens", rows + "i32>", "batch, sequence");
  if (hasDropout())
    name("!samples", "tensor<?xi32>", "the number of each row of the batch");
  name("!hidden", rows + std::to_string(recipe.width) + "xf32>", "batch, sequence, width");
  name("!rows", rows + "f32>", "a number for each row of !hidden");
  name("!query", rows + std::to_string(recipe.width) + "xf32>", "heads of " + std::to_string(recipe.headDim()));
  name("!kv", rows + std::to_string(recipe.kvWidth()) + "xf32>", "KV heads of " + std::to_string(recipe.headDim()));
  if (recipe.fusedQkv)
    name("!qkv", rows + std::to_string(recipe.width + 2 * recipe.kvWidth()) + "xf32>", "query, key and value");
  name("!scores", "tensor<?x" + std::to_string(recipe.heads) + "x" + sequence + "xf32>", "batch, heads, sequence");
  name("!ffn", rows + std::to_string(recipe.ffn) + "xf32>", "inside the MLP");
  if (recipe.fusedGateUp)
    name("!gate_up", rows + std::to_string(2 * recipe.ffn) + "xf32>", "gate and up");
  name("!logits", rows + std::to_string(recipe.vocabulary) + "xf32>", "batch, sequence, vocabulary");
  name("!scalar", "tensor<f32>", "a sum over all tokens");
  out << "\n";
}

void ModelWriter::writeParameters() {
  size_t symbolWidth = 0, typeWidth = 0;
  for (const ModelParameter &parameter : parameters) {
    symbolWidth = std::max(symbolWidth, symbol(parameter.name).size());
    typeWidth = std::max(typeWidth, tensorType(parameter.shape).size());
  }
  for (const ModelParameter &parameter : parameters) {
    line() << "tgpt.parameter " << padded(symbol(parameter.name), symbolWidth) << " : "
           << padded(tensorType(parameter.shape), typeWidth) << " = #tgpt.init<mean = " << floatLiteral(parameter.mean)
           << ", stddev = " << floatLiteral(parameter.stddev) << ">";
    if (parameter.layers > 0)
      out << " per_layer " << parameter.layers;
    out << (parameter.decayed ? "\n" : " {no_decay}\n");
  }
  out << "\n";
}

std::string ModelWriter::writeRead(const std::string &parameter) {
  // "layers.*.attn.q.weight" is read as %attn_q_weight.
  std::string value = "%" + parameter.substr(parameter.rfind('*') == std::string::npos ? 0 : parameter.rfind('*') + 2);
  std::replace(value.begin(), value.end(), '.', '_');
  line() << value << " = tgpt.read " << symbol(parameter) << " : " << typeOf(parameter) << "\n";
  return value;
}

void ModelWriter::writeNorm(const std::string &result, const std::string &input, const std::string &parameter) {
  std::string weight = writeRead(parameter + ".weight");
  std::string weightType = typeOf(parameter + ".weight");
  std::string epsilon = " {epsilon = " + floatLiteral(recipe.normEpsilon) + " : f64}";
  if (llama) {
    line() << result << ", " << result << "_rstd = tgpt.rms_norm " << input << ", " << weight << epsilon
           << " : (!hidden, " << weightType << ") -> (!hidden, !rows)\n";
    return;
  }
  std::string bias = writeRead(parameter + ".bias");
  line() << result << ", " << result << "_mean, " << result << "_rstd = tgpt.layer_norm " << input << ", " << weight
         << ", " << bias << epsilon << " : (!hidden, " << weightType << ", " << weightType
         << ") -> (!hidden, !rows, !rows)\n";
}

void ModelWriter::writeLinear(const std::string &result, const std::string &resultType, const std::string &input,
                              const std::string &inputType, const std::string &parameter) {
  std::string operands = input + ", " + writeRead(parameter + ".weight");
  std::string types = inputType + ", " + typeOf(parameter + ".weight");
  if (!llama) {
    operands += ", " + writeRead(parameter + ".bias");
    types += ", " + typeOf(parameter + ".bias");
  }
  line() << result << " = tgpt.linear " << operands << " : (" << types << ") -> " << resultType << "\n";
}

void ModelWriter::writeRope(const std::string &result, const std::string &input, const std::string &type) {
  line() << result << " = tgpt.rope " << input << " {head_dim = " << recipe.headDim()
         << " : i64, theta = " << floatLiteral(recipe.ropeTheta) << " : f64} : (" << type << ") -> " << type << "\n";
}

void ModelWriter::writeHeadNorm(const std::string &result, const std::string &input, const std::string &type,
                                const std::string &parameter) {
  std::string weight = writeRead(parameter + ".weight");
  line() << result << " = tgpt.head_norm " << input << ", " << weight
         << " {epsilon = " << floatLiteral(recipe.normEpsilon) << " : f64} : (" << type << ", "
         << typeOf(parameter + ".weight") << ") -> " << type << "\n";
}

std::string ModelWriter::writeDropout(const std::string &result, const std::string &input, const std::string &stream) {
  if (recipe.dropout == 0)
    return input;
  line() << result << " = tgpt.dropout " << input << ", %samples, %step {probability = " << floatLiteral(recipe.dropout)
         << " : f64, stream = \"" << stream << "\"} : (!hidden, !samples, tensor<i32>) -> !hidden\n";
  return result;
}

// Returns what enters the first layer.
std::string ModelWriter::writeEmbedding() {
  std::string table = writeRead("embed.weight");
  std::string result = llama ? "%embedded" : "%token";
  line() << result << " = tgpt.embedding %tokens, " << table << " : (!tokens, " << typeOf("embed.weight")
         << ") -> !hidden\n";
  if (!llama) {
    std::string position = writeRead("position.weight");
    line() << "%embedded = tgpt.add %token, " << position << " : (!hidden, " << typeOf("position.weight")
           << ") -> !hidden\n";
  }
  return writeDropout("%embedded_kept", "%embedded", "embed.dropout");
}

void ModelWriter::writeAttention() {
  comment("Attention.");
  writeNorm("%attn_in", "%residual", "layers.*.attn_norm");
  if (recipe.fusedQkv) {
    writeLinear("%qkv", "!qkv", "%attn_in", "!hidden", "layers.*.attn.qkv");
    line() << "%q, %k, %v = tgpt.split %qkv {names = [\"q\", \"k\", \"v\"]} : (!qkv) -> (!query, !kv, !kv)\n";
  } else {
    writeLinear("%q", "!query", "%attn_in", "!hidden", "layers.*.attn.q");
    writeLinear("%k", "!kv", "%attn_in", "!hidden", "layers.*.attn.k");
    writeLinear("%v", "!kv", "%attn_in", "!hidden", "layers.*.attn.v");
  }
  if (recipe.qkNorm) {
    writeHeadNorm("%q_normed", "%q", "!query", "layers.*.attn.q_norm");
    writeHeadNorm("%k_normed", "%k", "!kv", "layers.*.attn.k_norm");
  }
  if (llama) {
    writeRope("%q_turned", recipe.qkNorm ? "%q_normed" : "%q", "!query");
    writeRope("%k_turned", recipe.qkNorm ? "%k_normed" : "%k", "!kv");
  }
  line() << "%heads, %lse = tgpt.attention " << (llama ? "%q_turned, %k_turned" : "%q, %k") << ", %v"
         << (recipe.attentionDropout > 0 ? ", %samples, %step" : "") << " {head_dim = " << recipe.headDim()
         << " : i64, scale = " << floatLiteral(1 / std::sqrt(double(recipe.headDim()))) << " : f64";
  if (recipe.attentionDropout > 0)
    out << ", dropout = " << floatLiteral(recipe.attentionDropout)
        << " : f64, stream = \"layers.*.attn.probabilities\"} : (!query, !kv, !kv, !samples, tensor<i32>)";
  else
    out << "} : (!query, !kv, !kv)";
  out << " -> (!query, !scores)\n";
  writeLinear("%attn_out", "!hidden", "%heads", "!query", "layers.*.attn.o");
  std::string kept = writeDropout("%attn_kept", "%attn_out", "layers.*.attn.dropout");
  line() << "%middle = tgpt.add %residual, " << kept << " : (!hidden, !hidden) -> !hidden\n\n";
}

void ModelWriter::writeMlp() {
  comment("MLP.");
  writeNorm("%mlp_in", "%middle", "layers.*.mlp_norm");
  if (llama) {
    if (recipe.fusedGateUp) {
      writeLinear("%gate_up", "!gate_up", "%mlp_in", "!hidden", "layers.*.mlp.gate_up");
      line() << "%gate, %up = tgpt.split %gate_up {names = [\"gate\", \"up\"]} : (!gate_up) -> (!ffn, !ffn)\n";
    } else {
      writeLinear("%gate", "!ffn", "%mlp_in", "!hidden", "layers.*.mlp.gate");
      writeLinear("%up", "!ffn", "%mlp_in", "!hidden", "layers.*.mlp.up");
    }
    line() << "%activated = tgpt.swiglu %gate, %up : (!ffn, !ffn) -> !ffn\n";
  } else {
    writeLinear("%up", "!ffn", "%mlp_in", "!hidden", "layers.*.mlp.up");
    line() << "%activated = tgpt.gelu %up : (!ffn) -> !ffn\n";
  }
  writeLinear("%mlp_out", "!hidden", "%activated", "!ffn", "layers.*.mlp.down");
  std::string kept = writeDropout("%mlp_kept", "%mlp_out", "layers.*.mlp.dropout");
  line() << "%next = tgpt.add %middle, " << kept << " : (!hidden, !hidden) -> !hidden\n";
}

void ModelWriter::writeHead() {
  writeNorm("%final", "%last", "final_norm");
  // A tied head multiplies by the table that the embedding has read.
  std::string weight = recipe.tiedEmbeddings ? "%embed_weight" : writeRead("head.weight");
  line() << "%logits = tgpt.linear %final, " << weight << " : (!hidden, " << typeOf("embed.weight") << ") -> !logits\n";
  line() << "%loss_sum, %token_count, %logits_lse = tgpt.cross_entropy %logits, %labels : (!logits, !tokens) -> "
            "(!scalar, !scalar, !rows)\n";
}

void ModelWriter::writeFunction() {
  line() << "func.func @loss(%tokens: !tokens {tgpt.name = \"tokens\"}, %labels: !tokens {tgpt.name = \"labels\"}"
         << (hasDropout() ? "," : ")") << "\n";
  if (hasDropout())
    line()
        << "                %samples: !samples {tgpt.name = \"samples\"}, %step: tensor<i32> {tgpt.name = \"step\"})\n";
  line() << "    -> (!scalar {tgpt.name = \"loss_sum\"}, !scalar {tgpt.name = \"token_count\"}) {\n";
  indent = "    ";
  std::string embedded = writeEmbedding();
  out << "\n";
  line() << "%last = tgpt.repeat " << recipe.layers << " (%residual = " << embedded << ") : !hidden {\n";
  indent = "      ";
  writeAttention();
  writeMlp();
  line() << "tgpt.yield %next : !hidden\n";
  indent = "    ";
  line() << "}\n\n";
  writeHead();
  line() << "return %loss_sum, %token_count : !scalar, !scalar\n";
  indent = "  ";
  line() << "}\n";
}

std::string tgpt::modelText(const ModelRecipe &recipe) {
  return ModelWriter(recipe).write();
}
