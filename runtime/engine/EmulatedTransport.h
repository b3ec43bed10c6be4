//===- EmulatedTransport.h - collectives of emulated devices ----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The communicators of CPU ranks, called by the streams of emulated devices: reductions in
// rank order, messages that meet their receiver. Ranks are threads of this process.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_EMULATEDTRANSPORT_H
#define TGPT_RUNTIME_ENGINE_EMULATEDTRANSPORT_H

#include "runtime/comm/DeviceCommunicator.h"

#include <memory>

namespace tgpt::runtime {

std::unique_ptr<DeviceTransport> connectEmulated(const DeviceTransportRequest &request);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_EMULATEDTRANSPORT_H
