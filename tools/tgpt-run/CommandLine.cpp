//===- tools/tgpt-run/CommandLine.cpp - the options of tgpt-run -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/tgpt-run/CommandLine.h"
#include "runtime/kernels/cuda/cublaslt/ProductOptions.h"
#include "runtime/kernels/cuda/cudnn/AttentionOptions.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>

using namespace tgpt;
using namespace tgpt::runtime;

static constexpr const char *examples = R"(
Examples:
  tgpt-run compiled.bin --data=corpus.bin --steps=200 --lr=1e-3 --warmup-steps=20 --lr-schedule=cosine
  tgpt-run compiled.bin --data=corpus.bin --steps=200 --save=run1 --save-every=50 --metrics=run1.jsonl
  tgpt-run compiled.bin --data=corpus.bin --steps=400 --save=run1 --resume=run1
  tgpt-run compiled.bin --synthetic=1 --steps=20 --profile
  tgpt-run compiled.bin --synthetic=1 --steps=20 --trace=measured.json
  tgpt-run compiled.bin --data=corpus.bin --launch=spawn
  tgpt-run compiled.bin --data=corpus.bin --gpus=8
  tgpt-run compiled.bin --plan-info
  tgpt-run compiled.bin --backend=sim --cluster=recipes/clusters/dgx-h100.yaml --gantt --trace=simulated.json
  tgpt-run --calibrate -o here.yaml

--steps counts from the start of training: the third line trains 200 steps more. A
resumed run has the bits of an unbroken one when learning-rate options agree (a
cosine ends at --decay-steps, by default the last step). The plan decides model,
batch, dtype and grid; a checkpoint fits any plan of the same model. Traces open in
ui.perfetto.dev: a process for each rank, a row for each stream; those of a simulation
have the first rank of each stage, for the others do the same.
)";

static constexpr const char *deviceGroup = "Devices (--backend=cuda, cuda-emulated)";
static constexpr const char *simulationGroup = "Simulation";
static constexpr const char *calibrationGroup = "Calibration";
/// Options that --backend=sim shares, by group; nothing else means anything to it.
static constexpr const char *sharedOptions[] = {"--help", "--version", "plan", "--backend", "--trace"};

namespace {
/// The value type of an optional, or the type itself.
template <typename T> struct ValueOf { using type = T; };
template <typename T> struct ValueOf<std::optional<T>> { using type = T; };
} // namespace

/// An option with a few named values.
template <typename Target>
static void addChoice(CLI::App &app, const std::string &name, Target &target,
                      const std::vector<std::pair<std::string, typename ValueOf<Target>::type>> &choices,
                      const std::string &description) {
  std::string names;
  for (const auto &choice : choices)
    names += (names.empty() ? "" : "|") + choice.first;
  auto choose = [&target, name, choices, names](const std::string &text) {
    for (const auto &[known, value] : choices)
      if (text == known)
        return void(target = value);
    throw CLI::ValidationError(name, "'" + text + "' is unknown, expected " + names);
  };
  app.add_option_function<std::string>(name, choose, description)->type_name(names);
}

static void addDataOptions(CLI::App &app, TrainingOptions &options) {
  app.add_option("--data", options.data, "token file: llm.c's format, or raw uint16/uint32 tokens")->type_name("FILE");
  app.add_option("--synthetic", options.syntheticSeed, "train on uniform random tokens of this seed instead");
  addChoice(app, "--dtype", options.rawTokenWidth, {{"uint16", TokenWidth::Uint16}, {"uint32", TokenWidth::Uint32}},
            "token type of a file without header (default: uint32 for *.u32.bin and *.u32, else uint16)");
  app.add_option("--ignore-token", options.ignoreToken, "labels equal to this id count nowhere");
  app.add_option("--seed", options.dataSeed, "of the order of samples (default: the checkpoint's, else 0)");
}

static void addScheduleOptions(CLI::App &app, TrainingOptions &options) {
  LearningRate &rate = options.learningRate;
  app.add_option("--steps", options.steps, "last step, counted from the start of training")->capture_default_str();
  app.add_option("--lr", rate.peak, "learning rate after the warm-up")->capture_default_str();
  app.add_option("--min-lr", rate.minimum, "where a cosine ends")->capture_default_str();
  app.add_option("--warmup-steps", rate.warmupSteps, "steps of linear rise to --lr")->capture_default_str();
  using Shape = LearningRate::Shape;
  addChoice(app, "--lr-schedule", rate.shape, {{"constant", Shape::Constant}, {"cosine", Shape::Cosine}},
            "after the warm-up (default: constant)");
  app.add_option("--decay-steps", rate.decaySteps, "step where a cosine reaches --min-lr (default: --steps)");
}

static void addSavingOptions(CLI::App &app, TrainingOptions &options) {
  app.add_option("--save", options.save, "directory for checkpoints, written at the end and every --save-every steps")
      ->type_name("DIR");
  app.add_option("--save-every", options.saveEvery, "steps between checkpoints (default: only at the end)");
  app.add_option("--resume", options.resume, "continue from the latest checkpoint of a directory, or from one of them")
      ->type_name("DIR");
  app.add_option("--init-from", options.initFrom, "start with the weights of this safetensors file")->type_name("FILE");
  app.add_option("--dump-gradients", options.dumpGradients,
                 "write the gradients of the last step (of the mean loss, before clipping) as safetensors")
      ->type_name("FILE");
  app.add_option("--dump-variables", options.dumpVariables, "write all variables after the last step as safetensors")
      ->type_name("FILE");
}

static void addReportOptions(CLI::App &app, TrainingOptions &options) {
  app.add_option("--metrics", options.metrics, "write a JSON line per step to this file")->type_name("FILE");
  app.add_option("--log-every", options.logEvery, "steps between printed lines")->capture_default_str();
  app.add_flag("--profile", options.profile, "print seconds by part: GEMM, attention, norms, loss, ...");
  app.add_option("--trace", options.trace, "write what each instruction took as Chrome/Perfetto JSON")
      ->type_name("FILE");
  app.add_option("--trace-steps", options.traceSteps, "steps in the trace: the last ones")->capture_default_str();
  app.add_flag("--plan-info", options.planInfo, "print what the plan is for, train nothing");
  app.add_flag_callback(
      "--no-peak", [&options] { options.measurePeak = false; },
      "do not measure this machine's GEMM peak first (0.3 seconds)");
}

static void addExecutionOptions(CLI::App &app, TrainingOptions &options) {
  app.add_option("--threads", options.threadsPerRank, "threads per rank")->capture_default_str();
  app.add_option("--communication-threads", options.communicationThreads,
                 "threads per rank for collectives that run beside computation (tgpt-opt --overlap): 1, or 0 to run "
                 "them where they are started")
      ->capture_default_str();
  app.add_flag("--pin-threads", options.pinThreads, "keep each rank on one core");
  using Launch = LaunchKind;
  addChoice(app, "--launch", options.launch,
            {{"threads", Launch::Threads},
             {"spawn", Launch::Spawn},
             {"mpi", Launch::Mpi},
             {"torchrun", Launch::Torchrun},
             {"slurm", Launch::Slurm}},
            "ranks as threads of this process; as processes that it starts here; or as those that mpirun, torchrun or "
            "srun has started, by their environment (default: what the environment says, else threads)");
  app.add_option("--rendezvous-seconds", options.rendezvousSeconds,
                 "how long ranks that are processes wait for each other at the start")
      ->capture_default_str();
  addChoice(app, "--kernels", options.kernels, {{"cpu", KernelChoice::Cpu}, {"reference", KernelChoice::Reference}},
            "cpu (default), or reference: slow and plain, to compare with");
  app.add_option("--watchdog-seconds", options.watchdogSeconds,
                 "end the run when no rank has passed an instruction for so many seconds")
      ->capture_default_str();
  app.add_flag("--allow-nonfinite", options.allowNonfinite, "go on when the loss or gradient norm is inf or nan");
}

static void addDeviceOptions(CLI::App &app, TrainingOptions &options) {
  app.add_option(
         "--gpus", options.gpus,
         "start a process on each of so many GPUs of this machine: --backend=cuda --launch=spawn for a plan of as "
         "many ranks")
      ->type_name("COUNT");
  addChoice(app, "--cuda-graphs", options.usesGraphs, {{"on", true}, {"off", false}},
            "capture each segment once and replay it (default: on)");
  app.add_flag("--device-sync", options.syncsDevice,
               "wait for the device after each instruction, so that errors name it; what --profile and --trace do");
}

static constexpr const char *algorithmChoice = "--product-algorithms", *algorithmFile = "--product-file";

static void warn(const std::string &text) {
  std::cerr << "tgpt-run: warning: " << text << std::endl;
}

static void addProductOptions(CLI::App &app, cuda::ProductOptions &options) {
  app.add_flag("--tf32", options.tf32, "products of f32 operands on tensor cores, with 10 bits of their fractions");
  addChoice(app, algorithmChoice, options.measured, {{"estimated", false}, {"measured", true}},
            "cuBLASLt's algorithm for each product: the best by its estimate (default), or by time, once a product");
  app.add_option(algorithmFile, options.algorithmFile, "keep chosen algorithms in this file, and take them from it")
      ->type_name("FILE");
  options.warn = warn;
}

static constexpr const char *attentionChoice = "--attention", *attentionWorkspace = "--attention-workspace-mib";

static void addAttentionOptions(CLI::App &app, cuda::AttentionOptions &options) {
  using cuda::AttentionChoice;
  addChoice(
      app, attentionChoice, options.choice,
      {{"own", AttentionChoice::Own}, {"cudnn", AttentionChoice::Library}, {"measured", AttentionChoice::Measured}},
      "attention in bf16 and f16: by our kernels (default), by cuDNN wherever it can, or by the faster one, "
      "measured once a shape (default with --product-algorithms=measured)");
  app.add_option_function<size_t>(
         attentionWorkspace, [&options](size_t mib) { options.mostWorkspaceBytes = mib << 20; },
         "calls of cuDNN that need more workspace are ours (default: 512)")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("MIB");
  options.warn = warn;
}

static void addSimulationOptions(CLI::App &app, sim::SimulationRequest &request) {
  app.add_option("--cluster", request.cluster, "the cluster's figures (recipes/clusters)")->type_name("FILE");
  app.add_flag("--gantt", request.gantt, "print what each stage does when");
  app.add_option("--gantt-svg", request.ganttSvg, "draw it to this file")->type_name("FILE");
  app.add_flag("--json", request.json, "print the report as JSON");
}

static void addCalibrationOptions(CLI::App &app, calibration::CalibrationRequest &request) {
  app.add_flag("--calibrate", request.isAsked,
               "measure this machine's kernels and collectives and write a cluster file; needs no plan");
  app.add_option("-o", request.output, "where to (default: standard output)")->type_name("FILE");
  app.add_flag("--quick", request.isQuick, "only small sizes: rough figures in a second or two, to try things out");
}

/// Options of ranks on the host that ranks on devices have no use for.
static constexpr const char *hostOptions[] = {"--kernels", "--threads", "--pin-threads", "--no-peak"};

/// --gpus=8 says backend and launch by itself.
static void settleGpus(const CLI::App &app, RunCommand &command) {
  if (!command.training.gpus)
    return;
  if (app.count("--backend") == 0)
    command.backend = Backend::Cuda;
  if (app.count("--launch") > 0 && command.training.launch != LaunchKind::Spawn)
    throw Error(
        "--gpus starts a process for each rank itself: leave out --launch, or leave out --gpus and start them by "
        "a launcher, with --backend=cuda");
  command.training.launch = LaunchKind::Spawn;
}

static void settleDevices(const CLI::App &app, bool isOnDevice) {
  for (const CLI::Option *option : app.get_options()) {
    std::string name = option->get_name();
    bool isOfHost = std::find(std::begin(hostOptions), std::end(hostOptions), name) != std::end(hostOptions);
    if (option->count() > 0 && isOnDevice && isOfHost)
      throw Error(name + " is for ranks on the host: leave it out with --backend=cuda and --backend=cuda-emulated");
    if (option->count() > 0 && !isOnDevice && option->get_group() == deviceGroup)
      throw Error(name + " is for ranks on devices: add --backend=cuda or --backend=cuda-emulated");
  }
}

/// Emulated devices have products of their own, but a choice of attention like the real ones.
static void settleProducts(const CLI::App &app, bool hasLibrary) {
  cuda::AttentionOptions &attention = cuda::attentionOptions();
  if (app.count(attentionChoice) == 0 && cuda::productOptions().measured)
    attention.choice = cuda::AttentionChoice::Measured;
  bool measuresAttention = attention.choice == cuda::AttentionChoice::Measured;
  for (const char *name : {algorithmChoice, algorithmFile})
    if (!hasLibrary && app.count(name) > 0 && !(name == algorithmFile && measuresAttention))
      throw Error(std::string(name) + " is for products by cuBLASLt: add --backend=cuda");
  if (app.count(attentionWorkspace) > 0 && attention.choice == cuda::AttentionChoice::Own)
    throw Error(std::string(attentionWorkspace) + " is for attention by cuDNN: add --attention=cudnn or measured");
}

/// What decides which kernels devices run, and so the bits of their numbers.
static std::string deviceKernelsText() {
  static constexpr const char *choices[] = {"own", "cudnn", "measured"};
  const cuda::ProductOptions &products = cuda::productOptions();
  const cuda::AttentionOptions &attention = cuda::attentionOptions();
  std::ostringstream text;
  text << "--tf32=" << products.tf32 << "\n"
       << algorithmChoice << (products.measured ? "=measured\n" : "=estimated\n") << algorithmFile << "="
       << products.algorithmFile << "\n"
       << attentionChoice << "=" << choices[static_cast<size_t>(attention.choice)] << "\n"
       << attentionWorkspace << "=" << (attention.mostWorkspaceBytes >> 20) << "\n";
  return text.str();
}

/// A calibration shares no option with anything else.
static void settleCalibration(const CLI::App &app, bool isAsked) {
  for (const CLI::Option *option : app.get_options())
    if (option->count() > 0 && (option->get_group() == calibrationGroup) != isAsked)
      throw Error(option->get_name() +
                  (isAsked ? " means nothing to --calibrate: leave it out" : " is for a calibration: add --calibrate"));
}

static bool isSameFile(const std::filesystem::path &a, const std::filesystem::path &b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored) || a.lexically_normal() == b.lexically_normal();
}

/// Each file that is written is one of its own: none replaces another, or what is read.
static void checkFiles(const CLI::App &app) {
  static constexpr const char *outputs[] = {"--trace", "--gantt-svg", "--metrics", "--dump-gradients",
                                            "--dump-variables"};
  static constexpr const char *inputs[] = {"plan", "--cluster", "--data", "--init-from"};
  std::vector<const CLI::Option *> files;
  auto add = [&](const char *name) {
    if (const CLI::Option *option = app.get_option(name); option->count() > 0)
      files.push_back(option);
  };
  std::for_each(std::begin(inputs), std::end(inputs), add);
  std::size_t firstOutput = files.size();
  std::for_each(std::begin(outputs), std::end(outputs), add);
  for (std::size_t i = firstOutput; i < files.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (isSameFile(files[i]->results().front(), files[j]->results().front()))
        throw Error(files[i]->get_name() + " '" + files[i]->results().front() + "' is the file of " +
                    files[j]->get_name() + ": expected another one");
}

void tgpt::RunCommand::settle(const CLI::App &app) {
  settleCalibration(app, calibration.isAsked);
  if (calibration.isAsked)
    return;
  if (training.plan.empty())
    throw Error("plan is required (see tgpt-run --help)");
  settleGpus(app, *this);
  for (const CLI::Option *option : app.get_options()) {
    std::string name = option->get_name();
    bool isShared = std::find(std::begin(sharedOptions), std::end(sharedOptions), name) != std::end(sharedOptions);
    bool isOfSimulation = option->get_group() == simulationGroup;
    if (option->count() == 0 || isShared || isOfSimulation == (backend == Backend::Sim))
      continue;
    throw Error(name + (isOfSimulation ? " is for a simulation: add --backend=sim"
                                       : " is for training: leave it out with --backend=sim"));
  }
  checkFiles(app);
  if (simulation.json && simulation.gantt)
    throw Error("--json and --gantt would share stdout: leave one out, or draw with --gantt-svg=FILE");
  settleDevices(app, backend == Backend::Cuda || backend == Backend::CudaEmulated);
  training.device = backend == Backend::Cuda           ? DeviceChoice::Cuda
                    : backend == Backend::CudaEmulated ? DeviceChoice::CudaEmulated
                                                       : DeviceChoice::Host;
  settleProducts(app, backend == Backend::Cuda);
  if (training.device != DeviceChoice::Host)
    training.deviceKernels = deviceKernelsText();
  simulation.plan = training.plan;
  simulation.trace = training.trace;
}

void tgpt::addOptions(CLI::App &app, RunCommand &command) {
  TrainingOptions &options = command.training;
  app.footer(examples);
  app.add_option("plan", options.plan, "compiled plan, written by tgpt-opt")->type_name("FILE");
  addChoice(
      app, "--backend", command.backend,
      {{"cpu", Backend::Cpu}, {"cuda", Backend::Cuda}, {"cuda-emulated", Backend::CudaEmulated}, {"sim", Backend::Sim}},
      "what executes the plan: this machine's cores (default), its GPUs, GPUs that are emulated (slow: to try out "
      "plans and kernels), or a simulation of a cluster");
  app.option_defaults()->group("Data");
  addDataOptions(app, options);
  app.option_defaults()->group("Schedule");
  addScheduleOptions(app, options);
  app.option_defaults()->group("Saving");
  addSavingOptions(app, options);
  app.option_defaults()->group("Reports");
  addReportOptions(app, options);
  app.option_defaults()->group("Execution");
  addExecutionOptions(app, options);
  app.option_defaults()->group(deviceGroup);
  addDeviceOptions(app, options);
  addProductOptions(app, cuda::productOptions());
  addAttentionOptions(app, cuda::attentionOptions());
  app.option_defaults()->group(simulationGroup);
  addSimulationOptions(app, command.simulation);
  app.option_defaults()->group(calibrationGroup);
  addCalibrationOptions(app, command.calibration);
}
