//===- RecipeFields.h - the keys and values of a recipe, with their places -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layer between YAML and ModelRecipe: scalars by key, each with the place
// that an error about it names, and conversions that say what is accepted.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_FRONTEND_RECIPEFIELDS_H
#define TGPT_COMPILER_FRONTEND_RECIPEFIELDS_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tgpt {

class RecipeFields {
public:
  /// The top-level map of a YAML text. Throws RecipeError for anything but a map of
  /// distinct keys to scalars.
  RecipeFields(const std::string &text, const std::string &fileName);

  /// Sets a key from the command line.
  void override(const std::string &key, const std::string &value);

  /// Throws unless all needed keys are there and none besides them and the optional ones:
  /// the keys of a recipe of this family.
  void requireKeys(const std::vector<std::string> &needed, const std::vector<std::string> &optional,
                   const std::string &family) const;

  bool has(const std::string &key) const { return fields.contains(key); }
  std::string text(const std::string &key) const;
  int64_t integer(const std::string &key, int64_t least, int64_t most) const;
  /// A number in (0, most].
  double positive(const std::string &key, double most) const;
  /// A number in [0, 1).
  double share(const std::string &key) const;
  bool boolean(const std::string &key) const;
  /// The index of the value in `choices`.
  size_t choice(const std::string &key, const std::vector<std::string> &choices) const;

  /// Throws RecipeError at the place of `key`.
  [[noreturn]] void fail(const std::string &key, const std::string &message) const;

private:
  struct Field {
    std::string value;
    std::string place;
  };
  [[noreturn]] void refuse(const std::string &key, const std::string &accepted) const;

  std::string fileName;
  std::map<std::string, Field> fields;
};

} // namespace tgpt

#endif // TGPT_COMPILER_FRONTEND_RECIPEFIELDS_H
