//===- NcclLibrary.cpp - the real NCCL, linked or loaded --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types of the function pointers are those of nccl.h, so that the compiler checks every
// call. A build that has found the library is linked against it, so that the linker checks
// every name; one with the header alone, and one that TGPT_NCCL_LIBRARY points to another
// file, loads it. That stays loaded for the life of the process: its threads may outlive us.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/nccl/NcclLibrary.h"
#include "runtime/plan/Error.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <nccl.h>

using namespace tgpt::runtime;

static_assert(static_cast<int>(NcclResult::InvalidUsage) == ncclInvalidUsage);
static_assert(static_cast<int>(NcclResult::RemoteError) == ncclRemoteError);
static_assert(static_cast<int>(NcclResult::InProgress) == ncclInProgress);
static_assert(static_cast<int>(NcclType::Int32) == ncclInt32 && static_cast<int>(NcclType::Float16) == ncclFloat16);
static_assert(static_cast<int>(NcclType::Float32) == ncclFloat32 && static_cast<int>(NcclType::Float64) == ncclFloat64);
static_assert(static_cast<int>(NcclType::BFloat16) == ncclBfloat16);
static_assert(static_cast<int>(NcclOperation::Sum) == ncclSum && static_cast<int>(NcclOperation::Max) == ncclMax);
static_assert(sizeof(NcclUniqueId) == sizeof(ncclUniqueId) && ncclNoColor == NCCL_SPLIT_NOCOLOR);

/// The first with ncclCommSplit on non-blocking communicators.
static constexpr int leastVersion = 21800;

static std::string versionText(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

static ncclConfig_t configOf(const NcclConfig &config) {
  ncclConfig_t result = NCCL_CONFIG_INITIALIZER;
  result.blocking = config.isBlocking ? 1 : 0;
  if (config.mostBlocks > 0) {
    result.minCTAs = 1;
    result.maxCTAs = config.mostBlocks;
  }
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
  if (config.name)
    result.commName = config.name;
#endif
  return result;
}

static NcclResult from(ncclResult_t result) {
  return static_cast<NcclResult>(result);
}
static ncclComm_t to(NcclComm comm) {
  return reinterpret_cast<ncclComm_t>(comm);
}
static ncclDataType_t to(NcclType type) {
  return static_cast<ncclDataType_t>(type);
}
static ncclRedOp_t to(NcclOperation operation) {
  return static_cast<ncclRedOp_t>(operation);
}
static cudaStream_t streamOf(void *stream) {
  return static_cast<cudaStream_t>(stream);
}

namespace {
/// The functions by name.
struct Functions {
  decltype(&ncclGetVersion) getVersion;
  decltype(&ncclGetUniqueId) getUniqueId;
  decltype(&ncclCommInitRankConfig) initRank;
  decltype(&ncclCommSplit) split;
  decltype(&ncclCommCount) count;
  decltype(&ncclCommUserRank) userRank;
  decltype(&ncclCommFinalize) finalize;
  decltype(&ncclCommDestroy) destroy;
  decltype(&ncclCommAbort) abort;
  decltype(&ncclCommGetAsyncError) getAsyncError;
  decltype(&ncclAllReduce) allReduce;
  decltype(&ncclReduceScatter) reduceScatter;
  decltype(&ncclAllGather) allGather;
  decltype(&ncclBroadcast) broadcast;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) receive;
  decltype(&ncclGroupStart) groupStart;
  decltype(&ncclGroupEnd) groupEnd;
  decltype(&ncclGetLastError) getLastError;
};

class Library final : public NcclApi {
public:
  explicit Library(const Functions &functions) : f(functions) {}

  NcclResult version(int *version) override { return from(f.getVersion(version)); }
  NcclResult uniqueId(NcclUniqueId *id) override { return from(f.getUniqueId(reinterpret_cast<ncclUniqueId *>(id))); }
  NcclResult initRank(NcclComm *comm, int ranks, const NcclUniqueId &id, int rank, const NcclConfig &config) override {
    ncclConfig_t chosen = configOf(config);
    ncclUniqueId given;
    std::memcpy(&given, &id, sizeof(given));
    return from(f.initRank(reinterpret_cast<ncclComm_t *>(comm), ranks, given, rank, &chosen));
  }
  NcclResult split(NcclComm comm, int color, int key, NcclComm *part, const NcclConfig &config) override {
    ncclConfig_t chosen = configOf(config);
    return from(f.split(to(comm), color, key, reinterpret_cast<ncclComm_t *>(part), &chosen));
  }
  NcclResult members(NcclComm comm, int *ranks, int *own) override {
    ncclResult_t result = f.count(to(comm), ranks);
    return from(result == ncclSuccess ? f.userRank(to(comm), own) : result);
  }
  NcclResult finalize(NcclComm comm) override { return from(f.finalize(to(comm))); }
  NcclResult destroy(NcclComm comm) override { return from(f.destroy(to(comm))); }
  NcclResult abort(NcclComm comm) override { return from(f.abort(to(comm))); }
  NcclResult asyncError(NcclComm comm, NcclResult *error) override {
    ncclResult_t state = ncclSuccess;
    ncclResult_t result = f.getAsyncError(to(comm), &state);
    *error = from(state);
    return from(result);
  }
  NcclResult allReduce(const void *source, void *target, size_t count, NcclType type, NcclOperation operation,
                       NcclComm comm, void *stream) override {
    return from(f.allReduce(source, target, count, to(type), to(operation), to(comm), streamOf(stream)));
  }
  NcclResult reduceScatter(const void *source, void *target, size_t countOfPart, NcclType type, NcclOperation operation,
                           NcclComm comm, void *stream) override {
    return from(f.reduceScatter(source, target, countOfPart, to(type), to(operation), to(comm), streamOf(stream)));
  }
  NcclResult allGather(const void *source, void *target, size_t countOfPart, NcclType type, NcclComm comm,
                       void *stream) override {
    return from(f.allGather(source, target, countOfPart, to(type), to(comm), streamOf(stream)));
  }
  NcclResult broadcast(const void *source, void *target, size_t count, NcclType type, int root, NcclComm comm,
                       void *stream) override {
    return from(f.broadcast(source, target, count, to(type), root, to(comm), streamOf(stream)));
  }
  NcclResult send(const void *source, size_t count, NcclType type, int peer, NcclComm comm, void *stream) override {
    return from(f.send(source, count, to(type), peer, to(comm), streamOf(stream)));
  }
  NcclResult receive(void *target, size_t count, NcclType type, int peer, NcclComm comm, void *stream) override {
    return from(f.receive(target, count, to(type), peer, to(comm), streamOf(stream)));
  }
  NcclResult groupStart() override { return from(f.groupStart()); }
  NcclResult groupEnd() override { return from(f.groupEnd()); }
  std::string lastError(NcclComm comm) override {
    const char *text = f.getLastError(to(comm));
    return text ? text : "";
  }

private:
  Functions f;
};
} // namespace

template <typename Function>
static void findFunction(void *library, const std::string &file, const char *name, Function &function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (!function)
    throw Error(file + " has no function " + name + ": NCCL 2.18 or newer is needed");
}

/// The functions of a library that is not linked.
static Functions loadFunctions(const std::string &file) {
  void *library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw Error("NCCL is needed for plans of several ranks on GPUs, but it cannot be loaded (" +
                std::string(::dlerror()) + "): install it (pip install nvidia-nccl-cu13), and have its folder on " +
                "LD_LIBRARY_PATH or its file in TGPT_NCCL_LIBRARY");
  Functions f;
  findFunction(library, file, "ncclGetVersion", f.getVersion);
  findFunction(library, file, "ncclGetUniqueId", f.getUniqueId);
  findFunction(library, file, "ncclCommInitRankConfig", f.initRank);
  findFunction(library, file, "ncclCommSplit", f.split);
  findFunction(library, file, "ncclCommCount", f.count);
  findFunction(library, file, "ncclCommUserRank", f.userRank);
  findFunction(library, file, "ncclCommFinalize", f.finalize);
  findFunction(library, file, "ncclCommDestroy", f.destroy);
  findFunction(library, file, "ncclCommAbort", f.abort);
  findFunction(library, file, "ncclCommGetAsyncError", f.getAsyncError);
  findFunction(library, file, "ncclAllReduce", f.allReduce);
  findFunction(library, file, "ncclReduceScatter", f.reduceScatter);
  findFunction(library, file, "ncclAllGather", f.allGather);
  findFunction(library, file, "ncclBroadcast", f.broadcast);
  findFunction(library, file, "ncclSend", f.send);
  findFunction(library, file, "ncclRecv", f.receive);
  findFunction(library, file, "ncclGroupStart", f.groupStart);
  findFunction(library, file, "ncclGroupEnd", f.groupEnd);
  findFunction(library, file, "ncclGetLastError", f.getLastError);
  return f;
}

#ifdef TGPT_NCCL_IS_LINKED
static constexpr Functions linkedFunctions = {
    ncclGetVersion,   ncclGetUniqueId,   ncclCommInitRankConfig, ncclCommSplit,   ncclCommCount,
    ncclCommUserRank, ncclCommFinalize,  ncclCommDestroy,        ncclCommAbort,   ncclCommGetAsyncError,
    ncclAllReduce,    ncclReduceScatter, ncclAllGather,          ncclBroadcast,   ncclSend,
    ncclRecv,         ncclGroupStart,    ncclGroupEnd,           ncclGetLastError};

static Functions usualFunctions() {
  return linkedFunctions;
}
#else
static Functions usualFunctions() {
  return loadFunctions("libnccl.so.2");
}
#endif

std::unique_ptr<NcclApi> tgpt::runtime::loadNccl() {
  const char *given = std::getenv("TGPT_NCCL_LIBRARY");
  Functions functions = given ? loadFunctions(given) : usualFunctions();
  int version = 0;
  if (functions.getVersion(&version) != ncclSuccess || version < leastVersion)
    throw Error(std::string(given ? given : "libnccl.so.2") + " is NCCL " + versionText(version) +
                ", but 2.18 or newer is needed");
  return std::make_unique<Library>(functions);
}
