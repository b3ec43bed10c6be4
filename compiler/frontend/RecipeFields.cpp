//===- RecipeFields.cpp - the keys and values of a recipe, with their places -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/RecipeFields.h"
#include "compiler/frontend/RecipeError.h"
#include "cost/cluster/YamlText.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace tgpt;

static std::string join(const std::vector<std::string> &words) {
  std::string joined;
  for (const std::string &word : words)
    joined += (joined.empty() ? "" : ", ") + word;
  return joined;
}

// Levenshtein distance: how many characters to insert, delete or replace.
static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

static const std::string &nearestWord(const std::string &word, const std::vector<std::string> &words) {
  return *std::min_element(words.begin(), words.end(), [&](const std::string &a, const std::string &b) {
    return editDistance(word, a) < editDistance(word, b);
  });
}

// The whole of `text` as a number, or false.
template <typename Number> static bool parseNumber(const std::string &text, Number &number) {
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

static std::string shortest(double number) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, number).ptr);
}

RecipeFields::RecipeFields(const std::string &text, const std::string &fileName) : fileName(fileName) {
  auto placeOf = [&](const YAML::Mark &mark) { return fileName + ":" + std::to_string(mark.line + 1); };
  try {
    YAML::Node root = cost::soleDocument(text);
    if (!root.IsMap())
      throw RecipeError(fileName + ":1: a recipe is a map of keys to values, like 'layers: 12'");
    for (const auto &entry : root) {
      std::string place = placeOf(entry.first.Mark());
      if (!entry.first.IsScalar())
        throw RecipeError(place + ": a key must be a word");
      std::string key = entry.first.Scalar();
      if (!entry.second.IsScalar())
        throw RecipeError(place + ": " + key + " needs a single value");
      auto [earlier, fresh] = fields.try_emplace(key, Field{entry.second.Scalar(), place});
      if (!fresh)
        throw RecipeError(place + ": " + key + " is given twice, first at " + earlier->second.place);
    }
  } catch (const cost::YamlTextError &error) {
    throw RecipeError(fileName + ":" + std::to_string(error.line) + ": " + error.what());
  } catch (const YAML::Exception &error) {
    throw RecipeError(placeOf(error.mark) + ": not valid YAML: " + error.msg);
  }
}

void RecipeFields::override(const std::string &key, const std::string &value) {
  std::string option = "--" + key;
  std::replace(option.begin(), option.end(), '_', '-');
  fields[key] = {value, option};
}

void RecipeFields::requireKeys(const std::vector<std::string> &needed, const std::vector<std::string> &optional,
                               const std::string &family) const {
  std::vector<std::string> accepted = needed;
  accepted.insert(accepted.end(), optional.begin(), optional.end());
  for (const auto &[key, field] : fields)
    if (std::find(accepted.begin(), accepted.end(), key) == accepted.end())
      throw RecipeError(field.place + ": unknown key '" + key + "' in a recipe of family " + family +
                        "; nearest accepted key: " + nearestWord(key, accepted) + " (accepted: " + join(accepted) +
                        ")");
  for (const std::string &key : needed)
    if (!fields.count(key))
      throw RecipeError(fileName + ":1: key '" + key + "' is missing (needed: " + join(needed) + ")");
}

void RecipeFields::fail(const std::string &key, const std::string &message) const {
  auto field = fields.find(key);
  throw RecipeError((field == fields.end() ? fileName + ":1" : field->second.place) + ": " + message);
}

void RecipeFields::refuse(const std::string &key, const std::string &accepted) const {
  fail(key, key + " is " + cost::quotedValue(text(key)) + "; accepted: " + accepted);
}

std::string RecipeFields::text(const std::string &key) const {
  auto field = fields.find(key);
  if (field == fields.end())
    fail(key, "key '" + key + "' is missing");
  return field->second.value;
}

int64_t RecipeFields::integer(const std::string &key, int64_t least, int64_t most) const {
  std::string accepted = "an integer from " + std::to_string(least) + " to " + std::to_string(most);
  int64_t number = 0;
  if (!parseNumber(text(key), number))
    refuse(key, accepted);
  if (number < least || number > most)
    refuse(key, accepted + "; nearest legal value: " + std::to_string(number < least ? least : most));
  return number;
}

double RecipeFields::positive(const std::string &key, double most) const {
  double number = 0;
  if (!parseNumber(text(key), number) || !(number > 0) || !(number <= most))
    refuse(key, "a number greater than 0 and at most " + shortest(most));
  return number;
}

double RecipeFields::share(const std::string &key) const {
  double number = 0;
  if (!parseNumber(text(key), number) || !(number >= 0) || !(number < 1))
    refuse(key, "a number of at least 0 and below 1");
  return number;
}

bool RecipeFields::boolean(const std::string &key) const {
  return choice(key, {"false", "true"}) == 1;
}

size_t RecipeFields::choice(const std::string &key, const std::vector<std::string> &choices) const {
  auto found = std::find(choices.begin(), choices.end(), text(key));
  if (found == choices.end())
    refuse(key, join(choices));
  return found - choices.begin();
}
