// RUN: split-file %s %t
// RUN: tgpt-opt %t/llama.mlir --tp=2 --compile-to=partitioned \
// RUN:   | FileCheck %s --check-prefix=TP --implicit-check-not='{{dist\.(all|reduce|slice|reshard|send)}}'
// RUN: tgpt-opt %t/llama.mlir --tp=2 --sp --compile-to=partitioned \
// RUN:   | FileCheck %s --check-prefix=SP --implicit-check-not='{{dist\.(all|reduce|slice|reshard|send)}}'
// RUN: tgpt-opt %t/llama.mlir --tp=2 --dp=2 --compile-to=partitioned | FileCheck %s --check-prefix=DP
// RUN: tgpt-opt %t/llama.mlir --tp=2 --dp=2 --sp --compile-to=partitioned | FileCheck %s --check-prefix=DPSP
// RUN: tgpt-opt %t/gpt2.mlir --tp=2 --compile-to=partitioned \
// RUN:   | FileCheck %s --check-prefix=BIAS --implicit-check-not='{{dist\.(all|reduce|slice|reshard|send)}}'
// RUN: tgpt-opt %t/gpt2.mlir --tp=2 --sp --compile-to=partitioned \
// RUN:   | FileCheck %s --check-prefix=BIAS-SP --implicit-check-not='{{dist\.(all|reduce|slice|reshard|send)}}'
// RUN: tgpt-opt %t/llama.mlir --compile-to=partitioned \
// RUN:   | FileCheck %s --check-prefix=ONE --implicit-check-not='{{dist\.(all|reduce|slice|reshard|send)}}'

// The exact collectives of a Megatron transformer block: which, how many, over which axes, on
// which value. Whatever is not listed here must not be there (--implicit-check-not).

//===----------------------------------------------------------------------===//
// Tensor parallelism: two all_reduces forward, two backward (arXiv 1909.08053).
//===----------------------------------------------------------------------===//
// TP-LABEL: func.func @micro_batch

// Rows of the vocabulary that a rank lacks are zeros: the sum over tp is the embedding.
// TP: %[[ROWS:.+]] = tgpt.embedding
// TP: %[[X:.+]] = dist.all_reduce sum %[[ROWS]] over ["tp"] {tgpt.layer = -1 : i64}
// TP: tgpt.rms_norm %[[X]],

// Forward of the block: after attention's and after the MLP's row-parallel linear.
// TP: %[[WO:.+]] = tgpt.read @layers.0.attn.o.weight
// TP: %[[O:.+]] = tgpt.linear %{{.+}}, %[[WO]] {
// TP: %[[ATTN:.+]] = dist.all_reduce sum %[[O]] over ["tp"] {tgpt.layer = 0 : i64}
// TP: tgpt.add %[[X]], %[[ATTN]] {
// TP: %[[WDOWN:.+]] = tgpt.read @layers.0.mlp.down.weight
// TP: %[[DOWN:.+]] = tgpt.linear %{{.+}}, %[[WDOWN]] {
// TP: %[[MLP:.+]] = dist.all_reduce sum %[[DOWN]] over ["tp"] {tgpt.layer = 0 : i64}
// TP: tgpt.add %{{[^,]+}}, %[[MLP]] {

// The loss of logits sharded over the vocabulary: two numbers a token of each rank's part.
// TP: %[[STATISTICS:.+]] = tgpt.loss_statistics
// TP-NEXT: %[[ALL:.+]] = dist.all_gather %[[STATISTICS]] dim 0 over ["tp"] {tgpt.layer = 1 : i64} : tensor<1x2x1x6xf32, {{.*}} to tensor<2x2x1x6xf32,
// TP-NEXT: tgpt.token_loss %{{.+}}, %[[ALL]]

// TP: tgpt.begin_backward
// The head is column-parallel: the gradient of its input is a sum over tp.
// TP: %[[DHEAD:.+]] = tgpt.linear_dgrad
// TP: dist.all_reduce sum %[[DHEAD]] over ["tp"] {tgpt.layer = 1 : i64}

// Backward of the block: gate and up are summed first and share one all_reduce; so do q, k and v.
// TP: tgpt.swiglu_grad
// TP: %[[DUP:.+]] = tgpt.linear_dgrad
// TP: %[[DGATE:.+]] = tgpt.linear_dgrad
// TP: %[[DMLP:.+]] = tgpt.add %[[DUP]], %[[DGATE]] {
// TP: %[[DMLP_FULL:.+]] = dist.all_reduce sum %[[DMLP]] over ["tp"] {tgpt.layer = 0 : i64}
// TP: tgpt.rms_norm_grad %[[DMLP_FULL]],
// TP: tgpt.attention_grad
// TP: %[[DV:.+]] = tgpt.linear_dgrad
// TP: %[[DK:.+]] = tgpt.linear_dgrad
// TP: %[[DKV:.+]] = tgpt.add %[[DV]], %[[DK]] {
// TP: %[[DQ:.+]] = tgpt.linear_dgrad
// TP: %[[DQKV:.+]] = tgpt.add %[[DKV]], %[[DQ]] {
// TP: %[[DQKV_FULL:.+]] = dist.all_reduce sum %[[DQKV]] over ["tp"] {tgpt.layer = 0 : i64}
// TP: tgpt.rms_norm_grad %[[DQKV_FULL]],

// The update: squares of sharded gradients are summed once, over tp.
// TP-LABEL: func.func @update
// TP: %[[SQUARES:.+]] = tgpt.add_n
// TP: dist.all_reduce sum %[[SQUARES]] over ["tp"] : tensor<f32
// TP: tgpt.clip_scale

//===----------------------------------------------------------------------===//
// Sequence parallelism: each all_reduce becomes a reduce_scatter and an
// all_gather (arXiv 2205.05198), and the input of a column-parallel linear is
// gathered anew for its weight gradient: only a shard stays in memory.
//===----------------------------------------------------------------------===//
// SP-LABEL: func.func @micro_batch

// SP: %[[ROWS:.+]] = tgpt.embedding
// SP: %[[X:.+]] = dist.reduce_scatter %[[ROWS]] dim 1 over ["tp"] {tgpt.layer = -1 : i64} : tensor<1x6x8xf32, {{.*}} to tensor<1x3x8xf32,

// Forward of the block: gather before, reduce_scatter after attention and MLP. q, k and v share
// their gather, gate and up theirs.
// SP: %[[N0:.+]]:2 = tgpt.rms_norm %[[X]],
// SP: %[[N0_FULL:.+]] = dist.all_gather %[[N0]]#0 dim 1 over ["tp"] {tgpt.layer = 0 : i64} : tensor<1x3x8xf32, {{.*}} to tensor<1x6x8xf32,
// SP: tgpt.linear %[[N0_FULL]],
// SP: tgpt.linear %[[N0_FULL]],
// SP: tgpt.linear %[[N0_FULL]],
// SP: %[[WO:.+]] = tgpt.read @layers.0.attn.o.weight
// SP: %[[O:.+]] = tgpt.linear %{{.+}}, %[[WO]] {
// SP: %[[ATTN:.+]] = dist.reduce_scatter %[[O]] dim 1 over ["tp"] {tgpt.layer = 0 : i64}
// SP: tgpt.add %[[X]], %[[ATTN]] {
// SP: %[[N1:.+]]:2 = tgpt.rms_norm
// SP: %[[N1_FULL:.+]] = dist.all_gather %[[N1]]#0 dim 1 over ["tp"] {tgpt.layer = 0 : i64}
// SP: tgpt.linear %[[N1_FULL]],
// SP: tgpt.linear %[[N1_FULL]],
// SP: %[[WDOWN:.+]] = tgpt.read @layers.0.mlp.down.weight
// SP: %[[DOWN:.+]] = tgpt.linear %{{.+}}, %[[WDOWN]] {
// SP: %[[MLP:.+]] = dist.reduce_scatter %[[DOWN]] dim 1 over ["tp"] {tgpt.layer = 0 : i64}
// SP: tgpt.add %{{[^,]+}}, %[[MLP]] {

// The head gathers its input; the loss is as without sequence parallelism.
// SP: %[[NF:.+]]:2 = tgpt.rms_norm
// SP: %[[NF_FULL:.+]] = dist.all_gather %[[NF]]#0 dim 1 over ["tp"] {tgpt.layer = 1 : i64}
// SP: tgpt.linear %[[NF_FULL]],
// SP: %[[STATISTICS:.+]] = tgpt.loss_statistics
// SP-NEXT: %[[ALL:.+]] = dist.all_gather %[[STATISTICS]] dim 0 over ["tp"] {tgpt.layer = 1 : i64} : tensor<1x2x1x6xf32, {{.*}} to tensor<2x2x1x6xf32,
// SP-NEXT: tgpt.token_loss %{{.+}}, %[[ALL]]

// SP: tgpt.begin_backward
// Backward of the head: its input gathered anew, the gradient of the input scattered.
// SP: %[[DHEAD:.+]] = tgpt.linear_dgrad
// SP: %[[NF_AGAIN:.+]] = dist.all_gather %[[NF]]#0 dim 1 over ["tp"] {tgpt.layer = 1 : i64}
// SP: tgpt.linear_wgrad %{{.+}}, %[[NF_AGAIN]] {
// SP: %[[DHEAD_PART:.+]] = dist.reduce_scatter %[[DHEAD]] dim 1 over ["tp"] {tgpt.layer = 1 : i64}
// SP: %[[DY:.+]]:2 = tgpt.rms_norm_grad %[[DHEAD_PART]],

// Backward of the block, MLP: gather dy (once for both gradients) and x, scatter dx.
// SP: %[[DY_FULL:.+]] = dist.all_gather %[[DY]]#0 dim 1 over ["tp"] {tgpt.layer = 0 : i64}
// SP: tgpt.linear_dgrad %[[DY_FULL]], %[[WDOWN]] {
// SP: tgpt.linear_wgrad %[[DY_FULL]],
// SP: %[[N1_AGAIN:.+]] = dist.all_gather %[[N1]]#0 dim 1 over ["tp"] {tgpt.layer = 0 : i64}
// SP: tgpt.linear_wgrad %{{.+}}, %[[N1_AGAIN]] {
// SP: %[[DMLP:.+]] = tgpt.add
// SP: tgpt.linear_wgrad %{{.+}}, %[[N1_AGAIN]] {
// SP: %[[DMLP_PART:.+]] = dist.reduce_scatter %[[DMLP]] dim 1 over ["tp"] {tgpt.layer = 0 : i64}
// SP: tgpt.rms_norm_grad %[[DMLP_PART]],
// Attention: the same.
// SP: %[[DM:.+]] = tgpt.add
// SP: %[[DM_FULL:.+]] = dist.all_gather %[[DM]] dim 1 over ["tp"] {tgpt.layer = 0 : i64}
// SP: tgpt.linear_dgrad %[[DM_FULL]], %[[WO]] {
// SP: tgpt.linear_wgrad %[[DM_FULL]],
// SP: tgpt.attention_grad
// SP: %[[N0_AGAIN:.+]] = dist.all_gather %[[N0]]#0 dim 1 over ["tp"] {tgpt.layer = 0 : i64}
// SP: tgpt.linear_wgrad %{{.+}}, %[[N0_AGAIN]] {
// SP: tgpt.linear_wgrad %{{.+}}, %[[N0_AGAIN]] {
// SP: %[[DQKV:.+]] = tgpt.add
// SP: tgpt.linear_wgrad %{{.+}}, %[[N0_AGAIN]] {
// SP: %[[DQKV_PART:.+]] = dist.reduce_scatter %[[DQKV]] dim 1 over ["tp"] {tgpt.layer = 0 : i64}
// SP: tgpt.rms_norm_grad %[[DQKV_PART]],

// Backward of the embedding: every rank needs the gradients of all tokens.
// SP: %[[DX_FULL:.+]] = dist.all_gather %{{.+}} dim 1 over ["tp"] {tgpt.layer = -1 : i64}
// SP: tgpt.embedding_grad %{{.+}}, %[[DX_FULL]] {

// The update: a norm saw the tokens of its rank only, so the gradients of the three norm weights
// are sums over tp; all others are whole in their shard.
// SP-LABEL: func.func @update
// SP: %[[G0:.+]] = tgpt.read @layers.0.attn_norm.weight.gradient
// SP: dist.all_reduce sum %[[G0]] over ["tp"]
// SP: %[[G1:.+]] = tgpt.read @layers.0.mlp_norm.weight.gradient
// SP: dist.all_reduce sum %[[G1]] over ["tp"]
// SP: %[[G2:.+]] = tgpt.read @final_norm.weight.gradient
// SP: dist.all_reduce sum %[[G2]] over ["tp"]
// SP: %[[SQUARES:.+]] = tgpt.add_n
// SP: dist.all_reduce sum %[[SQUARES]] over ["tp"] : tensor<f32
// SP: tgpt.clip_scale

//===----------------------------------------------------------------------===//
// Data parallelism: nothing in a micro-batch; once a step each gradient, the
// token count and the loss.
//===----------------------------------------------------------------------===//
// DP-LABEL: func.func @micro_batch
// DP-NOT: over ["dp
// DP-LABEL: func.func @update
// DP: %[[G0:.+]] = tgpt.read @embed.weight.gradient
// DP-NEXT: dist.all_reduce sum %[[G0]] over ["dp"] :
// DP: %[[G1:.+]] = tgpt.read @layers.0.attn_norm.weight.gradient
// DP-NEXT: dist.all_reduce sum %[[G1]] over ["dp"] :
// DP: %[[G2:.+]] = tgpt.read @layers.0.attn.q.weight.gradient
// DP-NEXT: dist.all_reduce sum %[[G2]] over ["dp"] :
// DP: %[[G3:.+]] = tgpt.read @layers.0.attn.k.weight.gradient
// DP-NEXT: dist.all_reduce sum %[[G3]] over ["dp"] :
// DP: %[[G4:.+]] = tgpt.read @layers.0.attn.v.weight.gradient
// DP-NEXT: dist.all_reduce sum %[[G4]] over ["dp"] :
// DP: %[[G5:.+]] = tgpt.read @layers.0.attn.o.weight.gradient
// DP-NEXT: dist.all_reduce sum %[[G5]] over ["dp"] :
// DP: %[[G6:.+]] = tgpt.read @layers.0.mlp_norm.weight.gradient
// DP-NEXT: dist.all_reduce sum %[[G6]] over ["dp"] :
// DP: %[[G7:.+]] = tgpt.read @layers.0.mlp.gate.weight.gradient
// DP-NEXT: dist.all_reduce sum %[[G7]] over ["dp"] :
// DP: %[[G8:.+]] = tgpt.read @layers.0.mlp.up.weight.gradient
// DP-NEXT: dist.all_reduce sum %[[G8]] over ["dp"] :
// DP: %[[G9:.+]] = tgpt.read @layers.0.mlp.down.weight.gradient
// DP-NEXT: dist.all_reduce sum %[[G9]] over ["dp"] :
// DP: %[[G10:.+]] = tgpt.read @final_norm.weight.gradient
// DP-NEXT: dist.all_reduce sum %[[G10]] over ["dp"] :
// DP: %[[G11:.+]] = tgpt.read @head.weight.gradient
// DP-NEXT: dist.all_reduce sum %[[G11]] over ["dp"] :
// DP-NOT: over ["dp
// DP: dist.all_reduce sum %{{.+}} over ["tp"] : tensor<f32
// DP-NOT: over ["
// DP: dist.all_reduce sum %{{.+}} over ["dp"] : tensor<f32
// DP: tgpt.clip_scale
// DP-NOT: over ["
// DP: %[[LOSS:.+]] = tgpt.read @loss_sum
// DP-NEXT: dist.all_reduce sum %[[LOSS]] over ["dp"] : tensor<f32
// DP-NOT: over ["

// With sequence parallelism the gradients of norm weights are summed over both axes at once.
// DPSP-LABEL: func.func @micro_batch
// DPSP-NOT: over ["dp
// DPSP-LABEL: func.func @update
// DPSP: %[[G0:.+]] = tgpt.read @embed.weight.gradient
// DPSP-NEXT: dist.all_reduce sum %[[G0]] over ["dp"] :
// DPSP: %[[G1:.+]] = tgpt.read @layers.0.attn_norm.weight.gradient
// DPSP-NEXT: dist.all_reduce sum %[[G1]] over ["dp", "tp"] :
// DPSP: %[[G2:.+]] = tgpt.read @layers.0.attn.q.weight.gradient
// DPSP-NEXT: dist.all_reduce sum %[[G2]] over ["dp"] :
// DPSP: %[[G3:.+]] = tgpt.read @layers.0.attn.k.weight.gradient
// DPSP-NEXT: dist.all_reduce sum %[[G3]] over ["dp"] :
// DPSP: %[[G4:.+]] = tgpt.read @layers.0.attn.v.weight.gradient
// DPSP-NEXT: dist.all_reduce sum %[[G4]] over ["dp"] :
// DPSP: %[[G5:.+]] = tgpt.read @layers.0.attn.o.weight.gradient
// DPSP-NEXT: dist.all_reduce sum %[[G5]] over ["dp"] :
// DPSP: %[[G6:.+]] = tgpt.read @layers.0.mlp_norm.weight.gradient
// DPSP-NEXT: dist.all_reduce sum %[[G6]] over ["dp", "tp"] :
// DPSP: %[[G7:.+]] = tgpt.read @layers.0.mlp.gate.weight.gradient
// DPSP-NEXT: dist.all_reduce sum %[[G7]] over ["dp"] :
// DPSP: %[[G8:.+]] = tgpt.read @layers.0.mlp.up.weight.gradient
// DPSP-NEXT: dist.all_reduce sum %[[G8]] over ["dp"] :
// DPSP: %[[G9:.+]] = tgpt.read @layers.0.mlp.down.weight.gradient
// DPSP-NEXT: dist.all_reduce sum %[[G9]] over ["dp"] :
// DPSP: %[[G10:.+]] = tgpt.read @final_norm.weight.gradient
// DPSP-NEXT: dist.all_reduce sum %[[G10]] over ["dp", "tp"] :
// DPSP: %[[G11:.+]] = tgpt.read @head.weight.gradient
// DPSP-NEXT: dist.all_reduce sum %[[G11]] over ["dp"] :
// DPSP-NOT: over ["dp
// DPSP: dist.all_reduce sum %{{.+}} over ["tp"] : tensor<f32
// DPSP-NOT: over ["
// DPSP: dist.all_reduce sum %{{.+}} over ["dp"] : tensor<f32
// DPSP: tgpt.clip_scale
// DPSP-NOT: over ["
// DPSP: %[[LOSS:.+]] = tgpt.read @loss_sum
// DPSP-NEXT: dist.all_reduce sum %[[LOSS]] over ["dp"] : tensor<f32
// DPSP-NOT: over ["

//===----------------------------------------------------------------------===//
// Biases: that of a row-parallel linear is added once, after the reduction.
//===----------------------------------------------------------------------===//
// BIAS-LABEL: func.func @micro_batch
// BIAS: dist.all_reduce sum %{{.+}} over ["tp"] {tgpt.layer = -1 : i64}
// BIAS: %[[WUP:.+]] = tgpt.read @layers.0.mlp.up.weight
// BIAS: %[[BUP:.+]] = tgpt.read @layers.0.mlp.up.bias {{.*}} tensor<6xf32, #dist.layout<[tp], of = [12]>>
// BIAS: tgpt.linear %{{.+}}, %[[WUP]], %[[BUP]] {
// BIAS: %[[WDOWN:.+]] = tgpt.read @layers.0.mlp.down.weight
// BIAS: %[[BDOWN:.+]] = tgpt.read @layers.0.mlp.down.bias {{.*}} tensor<8xf32, #dist.layout<[-], of = [8]>>
// BIAS: %[[DOWN:.+]] = tgpt.linear %{{.+}}, %[[WDOWN]] {
// BIAS: %[[SUM:.+]] = dist.all_reduce sum %[[DOWN]] over ["tp"] {tgpt.layer = 0 : i64}
// BIAS: %[[BIASED:.+]] = tgpt.add %[[SUM]], %[[BDOWN]] {
// BIAS: tgpt.add %{{[^,]+}}, %[[BIASED]] {
// BIAS: dist.all_gather %{{.+}} dim 0 over ["tp"]
// BIAS: tgpt.begin_backward
// BIAS: dist.all_reduce sum %{{.+}} over ["tp"] {tgpt.layer = 1 : i64}
// Its gradient needs no reduction: every rank has the whole gradient of the sum.
// BIAS: %[[DBIAS:.+]] = tgpt.sum_leading
// BIAS: tgpt.accumulate %[[DBIAS]], @layers.0.mlp.down.bias.gradient
// BIAS: dist.all_reduce sum %{{.+}} over ["tp"] {tgpt.layer = 0 : i64}
// BIAS-LABEL: func.func @update
// BIAS: dist.all_reduce sum %{{.+}} over ["tp"] : tensor<f32

// With sequence parallelism the bias is added to a rank's tokens, and its gradient is a sum
// over tp like those of the norms. A rank has the positions of its tokens and their gradient: nothing is gathered.
// BIAS-SP-LABEL: func.func @micro_batch
// BIAS-SP: dist.reduce_scatter %{{.+}} dim 1 over ["tp"] {tgpt.layer = -1 : i64}
// BIAS-SP: %[[POSITION:.+]] = tgpt.read @position.weight {{.*}} : tensor<3x8xf32, #dist.layout<[tp, -], of = [6, 8]>>
// BIAS-SP: tgpt.add %{{.+}}, %[[POSITION]] {
// BIAS-SP: dist.all_gather %{{.+}} dim 1 over ["tp"] {tgpt.layer = 0 : i64}
// BIAS-SP: %[[BDOWN:.+]] = tgpt.read @layers.0.mlp.down.bias
// BIAS-SP: %[[DOWN:.+]] = tgpt.linear
// BIAS-SP: %[[SUM:.+]] = dist.reduce_scatter %[[DOWN]] dim 1 over ["tp"] {tgpt.layer = 0 : i64}
// BIAS-SP: tgpt.add %[[SUM]], %[[BDOWN]] {
// BIAS-SP: dist.all_gather %{{.+}} dim 1 over ["tp"] {tgpt.layer = 1 : i64}
// BIAS-SP: dist.all_gather %{{.+}} dim 0 over ["tp"]
// BIAS-SP: tgpt.begin_backward
// BIAS-SP: dist.all_gather %{{.+}} dim 1 over ["tp"] {tgpt.layer = 1 : i64}
// BIAS-SP: dist.reduce_scatter %{{.+}} dim 1 over ["tp"] {tgpt.layer = 1 : i64}
// BIAS-SP: dist.all_gather %{{.+}} dim 1 over ["tp"] {tgpt.layer = 0 : i64}
// BIAS-SP: dist.all_gather %{{.+}} dim 1 over ["tp"] {tgpt.layer = 0 : i64}
// BIAS-SP: dist.reduce_scatter %{{.+}} dim 1 over ["tp"] {tgpt.layer = 0 : i64}
// BIAS-SP: dist.all_gather %{{.+}} dim 1 over ["tp"] {tgpt.layer = -1 : i64} : tensor<1x3x8xf32
// BIAS-SP-LABEL: func.func @update
// BIAS-SP: tgpt.read @layers.0.mlp_norm.weight.gradient
// BIAS-SP: dist.all_reduce sum %{{.+}} over ["tp"] : tensor<8xf32
// BIAS-SP: tgpt.read @layers.0.mlp_norm.bias.gradient
// BIAS-SP: dist.all_reduce sum %{{.+}} over ["tp"] : tensor<8xf32
// BIAS-SP: tgpt.read @layers.0.mlp.down.bias.gradient
// BIAS-SP: dist.all_reduce sum %{{.+}} over ["tp"] : tensor<8xf32
// BIAS-SP: tgpt.read @final_norm.weight.gradient
// BIAS-SP: dist.all_reduce sum %{{.+}} over ["tp"] : tensor<8xf32
// BIAS-SP: tgpt.read @final_norm.bias.gradient
// BIAS-SP: dist.all_reduce sum %{{.+}} over ["tp"] : tensor<8xf32
// BIAS-SP: dist.all_reduce sum %{{.+}} over ["tp"] : tensor<f32

// One rank: no collective at all, and the loss stays one kernel.
// ONE-LABEL: func.func @micro_batch
// ONE: tgpt.cross_entropy

//--- llama.mlir
// One block of width 8: 4 heads and 2 KV heads of 2, MLP of 12, vocabulary 10, 6 tokens.
module @llama {
  tgpt.parameter @embed.weight : tensor<10x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @"layers.*.attn_norm.weight" : tensor<8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0> per_layer 1 {no_decay}
  tgpt.parameter @"layers.*.attn.q.weight" : tensor<8x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> per_layer 1
  tgpt.parameter @"layers.*.attn.k.weight" : tensor<4x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> per_layer 1
  tgpt.parameter @"layers.*.attn.v.weight" : tensor<4x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> per_layer 1
  tgpt.parameter @"layers.*.attn.o.weight" : tensor<8x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> per_layer 1
  tgpt.parameter @"layers.*.mlp_norm.weight" : tensor<8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0> per_layer 1 {no_decay}
  tgpt.parameter @"layers.*.mlp.gate.weight" : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> per_layer 1
  tgpt.parameter @"layers.*.mlp.up.weight" : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> per_layer 1
  tgpt.parameter @"layers.*.mlp.down.weight" : tensor<8x12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> per_layer 1
  tgpt.parameter @final_norm.weight : tensor<8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0> {no_decay}
  tgpt.parameter @head.weight : tensor<10x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>

  func.func @loss(%tokens: tensor<?x6xi32> {tgpt.name = "tokens"}, %labels: tensor<?x6xi32> {tgpt.name = "labels"})
      -> (tensor<f32> {tgpt.name = "loss_sum"}, tensor<f32> {tgpt.name = "token_count"}) {
    %table = tgpt.read @embed.weight : tensor<10x8xf32>
    %x = tgpt.embedding %tokens, %table : (tensor<?x6xi32>, tensor<10x8xf32>) -> tensor<?x6x8xf32>
    %y = tgpt.repeat 1 (%h = %x) : tensor<?x6x8xf32> {
      %w0 = tgpt.read @"layers.*.attn_norm.weight" : tensor<8xf32>
      %n0, %r0 = tgpt.rms_norm %h, %w0 {epsilon = 1.0e-5 : f64} : (tensor<?x6x8xf32>, tensor<8xf32>) -> (tensor<?x6x8xf32>, tensor<?x6xf32>)
      %wq = tgpt.read @"layers.*.attn.q.weight" : tensor<8x8xf32>
      %q = tgpt.linear %n0, %wq : (tensor<?x6x8xf32>, tensor<8x8xf32>) -> tensor<?x6x8xf32>
      %wk = tgpt.read @"layers.*.attn.k.weight" : tensor<4x8xf32>
      %k = tgpt.linear %n0, %wk : (tensor<?x6x8xf32>, tensor<4x8xf32>) -> tensor<?x6x4xf32>
      %wv = tgpt.read @"layers.*.attn.v.weight" : tensor<4x8xf32>
      %v = tgpt.linear %n0, %wv : (tensor<?x6x8xf32>, tensor<4x8xf32>) -> tensor<?x6x4xf32>
      %qr = tgpt.rope %q {head_dim = 2 : i64, theta = 10000.0 : f64} : (tensor<?x6x8xf32>) -> tensor<?x6x8xf32>
      %kr = tgpt.rope %k {head_dim = 2 : i64, theta = 10000.0 : f64} : (tensor<?x6x4xf32>) -> tensor<?x6x4xf32>
      %a, %lse = tgpt.attention %qr, %kr, %v {head_dim = 2 : i64, scale = 0.5 : f64} : (tensor<?x6x8xf32>, tensor<?x6x4xf32>, tensor<?x6x4xf32>) -> (tensor<?x6x8xf32>, tensor<?x4x6xf32>)
      %wo = tgpt.read @"layers.*.attn.o.weight" : tensor<8x8xf32>
      %o = tgpt.linear %a, %wo : (tensor<?x6x8xf32>, tensor<8x8xf32>) -> tensor<?x6x8xf32>
      %m = tgpt.add %h, %o : (tensor<?x6x8xf32>, tensor<?x6x8xf32>) -> tensor<?x6x8xf32>
      %w1 = tgpt.read @"layers.*.mlp_norm.weight" : tensor<8xf32>
      %n1, %r1 = tgpt.rms_norm %m, %w1 {epsilon = 1.0e-5 : f64} : (tensor<?x6x8xf32>, tensor<8xf32>) -> (tensor<?x6x8xf32>, tensor<?x6xf32>)
      %wg = tgpt.read @"layers.*.mlp.gate.weight" : tensor<12x8xf32>
      %g = tgpt.linear %n1, %wg : (tensor<?x6x8xf32>, tensor<12x8xf32>) -> tensor<?x6x12xf32>
      %wu = tgpt.read @"layers.*.mlp.up.weight" : tensor<12x8xf32>
      %u = tgpt.linear %n1, %wu : (tensor<?x6x8xf32>, tensor<12x8xf32>) -> tensor<?x6x12xf32>
      %s = tgpt.swiglu %g, %u : (tensor<?x6x12xf32>, tensor<?x6x12xf32>) -> tensor<?x6x12xf32>
      %wd = tgpt.read @"layers.*.mlp.down.weight" : tensor<8x12xf32>
      %d = tgpt.linear %s, %wd : (tensor<?x6x12xf32>, tensor<8x12xf32>) -> tensor<?x6x8xf32>
      %next = tgpt.add %m, %d : (tensor<?x6x8xf32>, tensor<?x6x8xf32>) -> tensor<?x6x8xf32>
      tgpt.yield %next : tensor<?x6x8xf32>
    }
    %wf = tgpt.read @final_norm.weight : tensor<8xf32>
    %f, %rf = tgpt.rms_norm %y, %wf {epsilon = 1.0e-5 : f64} : (tensor<?x6x8xf32>, tensor<8xf32>) -> (tensor<?x6x8xf32>, tensor<?x6xf32>)
    %wh = tgpt.read @head.weight : tensor<10x8xf32>
    %logits = tgpt.linear %f, %wh : (tensor<?x6x8xf32>, tensor<10x8xf32>) -> tensor<?x6x10xf32>
    %loss, %count, %z = tgpt.cross_entropy %logits, %labels : (tensor<?x6x10xf32>, tensor<?x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<?x6xf32>)
    return %loss, %count : tensor<f32>, tensor<f32>
  }
}

//--- gpt2.mlir
// A block with biases on the same shapes: learned positions, LayerNorm, MLP of 12 with GELU.
module @gpt2 {
  tgpt.parameter @embed.weight : tensor<10x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @position.weight : tensor<6x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @"layers.*.mlp_norm.weight" : tensor<8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0> per_layer 1 {no_decay}
  tgpt.parameter @"layers.*.mlp_norm.bias" : tensor<8xf32> = #tgpt.init<mean = 0.0, stddev = 0.0> per_layer 1 {no_decay}
  tgpt.parameter @"layers.*.mlp.up.weight" : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> per_layer 1
  tgpt.parameter @"layers.*.mlp.up.bias" : tensor<12xf32> = #tgpt.init<mean = 0.0, stddev = 0.0> per_layer 1 {no_decay}
  tgpt.parameter @"layers.*.mlp.down.weight" : tensor<8x12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> per_layer 1
  tgpt.parameter @"layers.*.mlp.down.bias" : tensor<8xf32> = #tgpt.init<mean = 0.0, stddev = 0.0> per_layer 1 {no_decay}
  tgpt.parameter @final_norm.weight : tensor<8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0> {no_decay}
  tgpt.parameter @final_norm.bias : tensor<8xf32> = #tgpt.init<mean = 0.0, stddev = 0.0> {no_decay}

  func.func @loss(%tokens: tensor<?x6xi32> {tgpt.name = "tokens"}, %labels: tensor<?x6xi32> {tgpt.name = "labels"})
      -> (tensor<f32> {tgpt.name = "loss_sum"}, tensor<f32> {tgpt.name = "token_count"}) {
    %table = tgpt.read @embed.weight : tensor<10x8xf32>
    %x = tgpt.embedding %tokens, %table : (tensor<?x6xi32>, tensor<10x8xf32>) -> tensor<?x6x8xf32>
    %p = tgpt.read @position.weight : tensor<6x8xf32>
    %e = tgpt.add %x, %p : (tensor<?x6x8xf32>, tensor<6x8xf32>) -> tensor<?x6x8xf32>
    %y = tgpt.repeat 1 (%h = %e) : tensor<?x6x8xf32> {
      %w = tgpt.read @"layers.*.mlp_norm.weight" : tensor<8xf32>
      %b = tgpt.read @"layers.*.mlp_norm.bias" : tensor<8xf32>
      %n, %mean, %rstd = tgpt.layer_norm %h, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<?x6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x6x8xf32>, tensor<?x6xf32>, tensor<?x6xf32>)
      %wu = tgpt.read @"layers.*.mlp.up.weight" : tensor<12x8xf32>
      %bu = tgpt.read @"layers.*.mlp.up.bias" : tensor<12xf32>
      %u = tgpt.linear %n, %wu, %bu : (tensor<?x6x8xf32>, tensor<12x8xf32>, tensor<12xf32>) -> tensor<?x6x12xf32>
      %s = tgpt.gelu %u : (tensor<?x6x12xf32>) -> tensor<?x6x12xf32>
      %wd = tgpt.read @"layers.*.mlp.down.weight" : tensor<8x12xf32>
      %bd = tgpt.read @"layers.*.mlp.down.bias" : tensor<8xf32>
      %d = tgpt.linear %s, %wd, %bd : (tensor<?x6x12xf32>, tensor<8x12xf32>, tensor<8xf32>) -> tensor<?x6x8xf32>
      %next = tgpt.add %h, %d : (tensor<?x6x8xf32>, tensor<?x6x8xf32>) -> tensor<?x6x8xf32>
      tgpt.yield %next : tensor<?x6x8xf32>
    }
    %wf = tgpt.read @final_norm.weight : tensor<8xf32>
    %bf = tgpt.read @final_norm.bias : tensor<8xf32>
    %f, %mf, %rf = tgpt.layer_norm %y, %wf, %bf {epsilon = 1.0e-5 : f64} : (tensor<?x6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x6x8xf32>, tensor<?x6xf32>, tensor<?x6xf32>)
    %logits = tgpt.linear %f, %table : (tensor<?x6x8xf32>, tensor<10x8xf32>) -> tensor<?x6x10xf32>
    %loss, %count, %z = tgpt.cross_entropy %logits, %labels : (tensor<?x6x10xf32>, tensor<?x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<?x6xf32>)
    return %loss, %count : tensor<f32>, tensor<f32>
  }
}
