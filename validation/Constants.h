//===- Constants.h - the model's constants, from a committed file ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// constants.csv names every figure that the model takes, with its unit and where it comes
// from: a data sheet, a measured kernel table, or a fit. This reads it and makes devices,
// topologies and software of it.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_VALIDATION_CONSTANTS_H
#define TGPT_VALIDATION_CONSTANTS_H

#include "validation/CachingAllocator.h"
#include <map>
#include <string>

namespace tgpt::validation {

class Constants {
public:
  explicit Constants(const std::string &path);

  /// Throws where the file has no such name.
  double at(const std::string &name) const;
  double at(const std::string &name, double otherwise) const;

  cost::DeviceRates device(const std::string &name) const;
  /// The links of a cluster.
  cost::Topology topology(const std::string &name) const;
  cost::Software software(const std::string &name) const;
  /// What a program's caching allocator has on a device.
  AllocatorEdge edge(const std::string &device, const std::string &software) const;
  cost::Machine machine(const std::string &device, const std::string &cluster, const std::string &software) const {
    return {this->device(device), topology(cluster), this->software(software)};
  }

private:
  std::string path;
  std::map<std::string, double> values;
};

} // namespace tgpt::validation

#endif // TGPT_VALIDATION_CONSTANTS_H
