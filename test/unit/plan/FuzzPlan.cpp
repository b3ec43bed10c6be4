//===- FuzzPlan.cpp - random damage to a plan -------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the message by reflection: at each level one field is picked; a message
// field is entered, anything else is changed.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/FuzzPlan.h"
#include "runtime/plan/PlanFile.h"

using namespace tgpt;
using namespace tgpt::test;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string tgpt::test::withDamagedBytes(std::string payload, std::mt19937_64 &random) {
  for (uint64_t damages = 1 + random() % 4; damages > 0; --damages)
    payload[random() % payload.size()] = static_cast<char>(random());
  std::string file = runtime::encodePlan(plan::Plan()).substr(0, 16);
  for (uint64_t value : {static_cast<uint64_t>(payload.size()), runtime::fnv1a64(payload)})
    for (int i = 0; i < 8; ++i)
      file.push_back(static_cast<char>(value >> (8 * i)));
  return file + payload;
}

static int64_t strangeInteger(int64_t old, std::mt19937_64 &random) {
  switch (random() % 6) {
  case 0: return 0;
  case 1: return -1;
  case 2: return old + 1;
  case 3: return old * 2;
  case 4: return INT64_MAX - static_cast<int64_t>(random() % 3);
  default: return static_cast<int64_t>(random() % 9);
  }
}

namespace {

/// One field of one message, perhaps one element of a repeated field.
struct FieldDamage {
  Message &message;
  const FieldDescriptor *field;
  int element; // -1 for a singular field
  std::mt19937_64 &random;

  template <typename T, typename Get, typename GetRepeated, typename Set, typename SetRepeated>
  void change(Get get, GetRepeated getRepeated, Set set, SetRepeated setRepeated) const {
    const Reflection *reflection = message.GetReflection();
    T old = element < 0 ? (reflection->*get)(message, field) : (reflection->*getRepeated)(message, field, element);
    T value = static_cast<T>(strangeInteger(static_cast<int64_t>(old), random));
    if (element < 0)
      (reflection->*set)(&message, field, value);
    else
      (reflection->*setRepeated)(&message, field, element, value);
  }

  void apply() const {
    using R = Reflection;
    switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return change<int64_t>(&R::GetInt64, &R::GetRepeatedInt64, &R::SetInt64, &R::SetRepeatedInt64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return change<uint32_t>(&R::GetUInt32, &R::GetRepeatedUInt32, &R::SetUInt32, &R::SetRepeatedUInt32);
    case FieldDescriptor::CPPTYPE_ENUM:
      return change<int>(&R::GetEnumValue, &R::GetRepeatedEnumValue, &R::SetEnumValue, &R::SetRepeatedEnumValue);
    default: message.GetReflection()->ClearField(&message, field);
    }
  }
};

} // namespace

void tgpt::test::damageRandomField(Message &message, std::mt19937_64 &random) {
  const Reflection *reflection = message.GetReflection();
  const FieldDescriptor *field =
      message.GetDescriptor()->field(static_cast<int>(random() % message.GetDescriptor()->field_count()));
  int count = field->is_repeated() ? reflection->FieldSize(message, field) : -1;
  if (count == 0)
    return;
  if (field->is_repeated() && random() % 8 == 0)
    return reflection->RemoveLast(&message, field);
  int element = field->is_repeated() ? static_cast<int>(random() % count) : -1;
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
    return FieldDamage{message, field, element, random}.apply();
  Message *child = element < 0 ? reflection->MutableMessage(&message, field)
                               : reflection->MutableRepeatedMessage(&message, field, element);
  damageRandomField(*child, random);
}
