//===- TableReaders.cpp - how each published table is read ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "validation/TableReaders.h"

namespace tgpt::validation {

using cost::OperandType;
using cost::Recompute;
using cost::Schedule;

namespace {

/// LLaMA: no biases, RMS norms, an output projection of its own.
void asLlama(PublishedRun &run) {
  run.shape.biases = run.shape.layerNorm = run.shape.tiedEmbedding = false;
  run.shape.gatedMlp = true;
}

void readSelectiveRecomputation(const CsvRow &row, PublishedRun &run) {
  asMegatron(run);
  readRecompute(row, run);
  run.software = "megatron-2022";
  if (run.shape.layers == 1)
    run.layersMeasured = 1;
}

void readMegatron(const CsvRow &row, PublishedRun &run) {
  asMegatron(run);
  readRecompute(row, run);
  if (row.contains("row_label", "ZeRO-3")) {
    run.software = "deepspeed";
    run.run.zero = 3;
  }
  // Table 2 prints no chunk counts: those of figure 12's script (2 layers a chunk) and of table 1.
  if (row.contains("row_label", "PTD")) {
    run.run.schedule = Schedule::Interleaved;
    run.run.chunks = run.shape.hidden == 12288 ? 4 : 3;
  }
}

void readZeroBubble(const CsvRow &row, PublishedRun &run) {
  asMegatron(run);
  run.shape.vocabulary = 50304; // not printed: GPT-2's, padded to 128
  run.cluster = "a100-zero-bubble";
  run.software = "megatron-zero-bubble";
  run.run.edgeStagesShorter = true;
  run.run.keepsForWeightGradients = row.text("schedule").starts_with("ZB");
  run.states = {2, 4, 4, 8, 0};
  run.peakBytes = row.number("peak_mem", 0) * 1073741824; // "GB" of a tool that counts in GiB: 80 of them in an A100
  const std::string &schedule = row.text("schedule");
  if (schedule == "ZB-1p")
    run.run.schedule = Schedule::ZeroBubbleH1;
  else if (schedule == "ZB-2p")
    run.run.schedule = Schedule::ZeroBubbleH2;
  else if (schedule == "1F1B-I") {
    run.run.schedule = Schedule::Interleaved;
    run.run.chunks = (run.shape.layers + 2) / run.run.pp;
  }
}

void readStageTimes(const CsvRow &row, PublishedRun &run) {
  asMegatron(run);
  run.row = "zbt-" + row.text("model") + "-" + row.text("n_microbatches");
  run.label = row.text("model") + " stage, forward and backward";
  run.cluster = "a100-zero-bubble";
  run.software = "megatron-zero-bubble";
  run.layersMeasured = (run.shape.layers + 2) / run.run.pp;
  run.measuredSeconds = (row.number("T_F_ms") + row.number("T_B_ms") + row.number("T_W_ms")) / 1000;
  run.run.pp = 1;
}

void readNemoLauncher(const CsvRow &row, PublishedRun &run) {
  asMegatron(run);
  run.software = "nemo";
  run.shape.vocabulary = 51200;
  // The YAML files of the commits that added the figures (a2b2f83a and 3579cdb3, September 2022): the table's columns
  // are those of a year later.
  double batch = 2048;
  run.run.microBatch = 2;
  run.run.zero = 1;
  run.run.tp = run.run.pp = run.shape.hidden == 12288 ? 8 : 1;
  run.run.chunks = 1;
  run.run.sequenceParallel = run.run.tp > 1;
  run.run.recompute = run.run.tp > 1 ? Recompute::Attention : Recompute::None;
  run.run.schedule = Schedule::OneF1B;
  run.run.dp = row.number("n_gpus") / (run.run.tp * run.run.pp);
  run.run.microBatches = batch / (run.run.dp * run.run.microBatch);
  run.measuredSeconds = batch * run.shape.sequence / (row.number("tokens_per_s_per_gpu") * row.number("n_gpus"));
}

void readBridge(const CsvRow &row, PublishedRun &run) {
  asLlama(run);
  run.shape.vocabulary = 128256;
  const std::string &gpu = row.text("gpu"), &precision = row.text("precision");
  run.device = gpu == "GB200" ? "gb200" : gpu == "GB300" ? "gb300" : gpu == "B200" ? "b200" : "h100";
  run.cluster = gpu == "B300" ? "b200" : run.device;
  run.software = precision.starts_with("NVFP4")              ? "bridge-fp4"
                 : precision.find("MX") != std::string::npos ? "bridge-mxfp8"
                                                             : "bridge-fp8";
  run.run.operands = precision.starts_with("NVFP4") ? OperandType::Fp4 : OperandType::Fp8;
  run.run.zero = row.contains("sharding", "megatron-fsdp") ? 3 : 1;
  run.run.sequenceParallel = run.run.tp > 1;
  run.run.schedule = run.run.chunks > 1 ? Schedule::Interleaved : Schedule::OneF1B;
  run.run.edgeStagesShorter = run.shape.layers == 126 && run.run.pp > 1;
}

void readTorchtitan(const CsvRow &row, PublishedRun &run) {
  asLlama(run);
  readRecompute(row, run);
  const std::string &gpu = row.text("gpu"), &precision = row.text("precision");
  run.device = gpu == "A100" ? "a100-80" : gpu == "H200" ? "h200" : gpu == "B200" ? "b200" : "h100-500w";
  run.cluster = gpu == "A100" ? "a100" : gpu == "B200" ? "b200" : "h100";
  bool wide = precision.find("bf16") != std::string::npos || precision.find("bfloat16") != std::string::npos;
  bool compiled = row.contains("row_label", "compile") || row.contains("notes", "compile") || run.run.tp > 1 ||
                  gpu == "B200" || !wide;
  run.software = !compiled ? "titan-eager" : row.contains("precision", "rowwise") ? "titan-rowwise" : "titan";
  if (row.contains("row_label", "sync"))
    run.software += "-async";
  run.run.operands = wide ? OperandType::Bits16 : OperandType::Fp8;
  run.run.zero = 3;
  run.run.microBatches = row.number("global_batch") / (run.run.dp * run.run.microBatch);
  run.states = {4, 4, 0, 8, 0}; // 32-bit parameters and gradients
  run.peakBytes = row.number("peak_mem", 0) * 1073741824;
  run.isReserved = true;
  // Blocks of the loss, per logit: its 16-bit value, the 32-bit copy, whose block the gradient of the negative
  // logarithm takes, the logarithmic softmax, and its gradient (torch.nn.functional.cross_entropy of the end of 2024).
  // Over tp (torch.distributed.tensor.parallel.loss_parallel) also the value less the maximum, and exponentials. The
  // loss compiled (torchtitan since 2025): a 16-bit value and its gradient.
  bool isLossCompiled = row.contains("source_id", "2025");
  run.states.logit = isLossCompiled ? 2 + 2 : run.run.tp > 1 ? 2 + 4 + 4 + 4 + 4 : 2 + 4 + 4 + 4;
}

void readFms(const CsvRow &row, PublishedRun &run) {
  asLlama(run);
  readRecompute(row, run);
  run.device = row.text("gpu") == "A100" ? "a100-80" : "h100";
  run.cluster = row.text("gpu") == "A100" ? "fms-a100" : "fms-h100";
  run.software = row.contains("location", "torch.compile)") ? "fms" : "fms-eager";
  if (run.device == "h100")
    run.software += "-h100";
  run.run.zero = 3;
  // HSDP shards in a node and replicates across nodes.
  if (row.contains("sharding", "HSDP"))
    run.run.zeroRanks = 8;
}

void readMpt(const CsvRow &row, PublishedRun &run) {
  readRecompute(row, run);
  run.shape.biases = false;
  run.shape.learnedPositions = run.shape.sequence;
  bool old = row.text("gpu") == "A100";
  run.device = old ? (row.number("gpu_mem_gb") == 40 ? "a100-40" : "a100-80") : "h100";
  run.cluster = old ? "a100" : "h100";
  run.software = row.contains("sharding", "PURE") ? "mpt-pure" : "mpt";
  if (!old)
    run.software += "-h100";
  run.run.operands = row.contains("precision", "fp8") ? OperandType::Fp8 : OperandType::Bits16;
  run.run.zero = row.contains("sharding", "ZeRO-2") ? 2 : 3;
  run.states = {4, 4, 0, 8, 0}; // FSDP shards 32-bit parameters, whatever it computes in
}

void readLlmC(const CsvRow &row, PublishedRun &run) {
  run.shape.learnedPositions = run.shape.sequence;
  const std::string &gpu = row.text("gpu");
  run.device = gpu == "H100" ? "h100" : "a100-80";
  run.cluster = gpu == "H100" ? "h100" : "a100";
  run.software = "llmc";
  run.run.zero = 1;
}

void readAlpa(const CsvRow &row, PublishedRun &run) {
  run.shape.learnedPositions = run.shape.sequence;
  run.run.fusedAttention = false;
  run.run.recompute = Recompute::Full;
  run.device = "v100-16";
  run.cluster = "p3";
  run.software = "alpa";
  run.run.zero = row.contains("sharding", "ZeRO-2") ? 2 : row.contains("sharding", "ZeRO-3") ? 3 : 0;
  run.run.dp = row.number("n_gpus");
  run.run.microBatch = row.number("global_batch") / run.run.dp;
}

} // namespace

void asMegatron(PublishedRun &run) {
  run.shape.dropout = true;
  run.shape.learnedPositions = run.shape.sequence;
  run.run.fusedAttention = false;
  run.device = "a100-80";
  run.cluster = "a100";
  run.software = "megatron";
}

void readRecompute(const CsvRow &row, PublishedRun &run) {
  const std::string &text = row.text("recompute");
  if (text.starts_with("full"))
    run.run.recompute = Recompute::Full;
  else if (text.starts_with("selective (core"))
    run.run.recompute = Recompute::Attention;
  else if (text == "selective layer") {
    run.run.recompute = Recompute::Full;
    run.run.recomputedLayers = 0.5;
  } else if (text.starts_with("selective (fraction")) {
    // HFU / MFU - 1 is the share of recomputed operations; a layer recomputed is one third.
    run.run.recompute = Recompute::Full;
    run.run.recomputedLayers = std::min(1.0, 3 * (row.number("hfu_pct") / row.number("mfu_pct") - 1));
  } else if (text.starts_with("selective"))
    run.run.recompute = Recompute::Cheap;
}

const std::vector<TableReader> &tableReaders() {
  static const std::vector<TableReader> readers = {
      {"selective recomputation, tables 4-5", "seqsel_2205_05198_tables.csv", readSelectiveRecomputation},
      {"Megatron SC21, tables 1-2", "megatron_2104_04473_table1.csv", readMegatron},
      {"zero bubble, tables 4, 7, 8", "zero_bubble_2401_10241.csv", readZeroBubble},
      {"zero bubble, stage times", "zero_bubble_2401_10241_stage_times.csv", readStageTimes},
      {"NeMo launcher, GPT-3", "nemo_launcher_a100.csv", readNemoLauncher},
      {"Megatron-Bridge, dense", "megatron_bridge_perf_summary.csv", readBridge},
      {"torchtitan", "torchtitan.csv", readTorchtitan},
      {"fms-fsdp", "fms_fsdp.csv", readFms},
      {"llm-foundry MPT", "llm_foundry_mpt.csv", readMpt},
      {"llm.c", "llmc.csv", readLlmC},
      {"Alpa, intra-op ablation", "alpa_osdi22.csv", readAlpa}};
  return readers;
}

PublishedRun commonFields(const CsvRow &row, const TableReader &reader) {
  PublishedRun run;
  run.table = reader.name;
  run.row = row.text("row_id");
  run.label = row.text("row_label");
  cost::ModelShape &shape = run.shape;
  shape.layers = row.number("layers", 0);
  shape.hidden = row.number("hidden", 0);
  shape.heads = row.number("heads", 1);
  shape.kvHeads = row.number("kv_heads", shape.heads);
  shape.headDim = shape.hidden / shape.heads;
  shape.ffnHidden = row.number("ffn_hidden", 4 * shape.hidden);
  shape.vocabulary = row.number("vocab", 0);
  shape.sequence = row.number("seq", 0);
  cost::Execution &degrees = run.run;
  degrees.tp = row.number("tp", 1);
  degrees.cp = row.number("cp", 1);
  degrees.dp = row.number("dp", 1);
  degrees.pp = row.number("pp", 1);
  degrees.sequenceParallel = row.text("sequence_parallel") == "yes";
  degrees.microBatch = row.number("micro_batch", 1);
  degrees.microBatches = row.number("n_microbatches", 1);
  const std::string &chunks = row.text("vpp");
  degrees.chunks = chunks.empty() || chunks.starts_with("max") ? 1 : row.number("vpp");
  degrees.schedule = degrees.chunks > 1 ? Schedule::Interleaved : Schedule::OneF1B;
  run.measuredSeconds = row.number("step_time_s", 0);
  run.group = row.text("hidden") + " " + row.text("layers") + " " + row.text("seq") + " " + row.text("gpu") + " " +
              row.text("n_gpus");
  return run;
}

} // namespace tgpt::validation
