// The exact collectives of a model of two layers and a tied embedding under each stage of ZeRO, dp = 2: which, how often
// and how many bytes each rank reads and writes. Elements: embedding 12, a layer's weights 12 + 12, its norm 3, padded to 4.
//
// RUN: tgpt-opt %s --dp=2 --zero=1 --bucket-mib=0 --compile-to=plan | FileCheck %s --check-prefix=ONE --implicit-check-not=plan.collective
// RUN: tgpt-opt %s --dp=2 --zero=2 --bucket-mib=0 --compile-to=plan | FileCheck %s --check-prefix=TWO --implicit-check-not=plan.collective
// RUN: tgpt-opt %s --dp=2 --zero=3 --compile-to=plan | FileCheck %s --check-prefix=THREE --implicit-check-not=plan.collective
//
// One bucket for what is decayed and one for the norms, when there is room; the tied embedding has its own.
// RUN: tgpt-opt %s --dp=2 --zero=1 --compile-to=zero | FileCheck %s --check-prefix=MERGED
// MERGED-COUNT-12: tgpt.bucket
// MERGED-NOT: tgpt.bucket
// MERGED-LABEL: func.func @update
// MERGED-COUNT-3: dist.reduce_scatter
// MERGED-NOT: dist.reduce_scatter
// MERGED-COUNT-3: dist.all_gather
// MERGED-NOT: dist.all_gather
//
// But not over a pipeline stage's end.
// RUN: tgpt-opt %s --dp=2 --pp=2 --zero=1 --compile-to=zero | FileCheck %s --check-prefix=CUT
// CUT: module @tiny attributes {dist.stages = array<i64: 1, 1>}
// CUT: tgpt.bucket @zero.layers.0.decayed.parameter of [@layers.0.up.weight, @layers.0.down.weight]
// CUT: tgpt.bucket @zero.layers.1.decayed.parameter of [@layers.1.up.weight, @layers.1.down.weight]
//
// One layer ahead: what layer 1 needs is gathered before layer 0 begins, and the other way round in the backward, whose
// gathers stay behind its begin.
// RUN: tgpt-opt %s --dp=2 --compile-to=partitioned | tgpt-opt --dist-choose-stages --zero-form-buckets=bucket-mib=0 --zero-shard-optimizer --zero-shard-gradients --zero-shard-parameters=prefetch=1 --dist-split-stages --dist-schedule --plan-lower | FileCheck %s --check-prefix=AHEAD --implicit-check-not="collective all_gather"
// AHEAD: plan.segment forward
// AHEAD-NEXT: plan.collective all_gather %zero.embed.decayed
// AHEAD-NEXT: plan.collective all_gather %zero.layers.0.undecayed
// AHEAD-NEXT: plan.collective all_gather %zero.layers.0.decayed
// AHEAD-NEXT: plan.input
// AHEAD-NEXT: "embedding"
// AHEAD-NEXT: plan.collective all_gather %zero.layers.1.undecayed
// AHEAD-NEXT: plan.collective all_gather %zero.layers.1.decayed
// AHEAD-NEXT: "rms_norm"
// AHEAD: plan.collective all_gather %zero.embed.decayed
// AHEAD-NEXT: "rms_norm"
// AHEAD: "cross_entropy_grad"
// AHEAD: plan.segment backward
// AHEAD: plan.collective all_gather %zero.embed.decayed
// AHEAD: plan.collective all_gather %zero.layers.1.undecayed
// AHEAD-NEXT: plan.collective all_gather %zero.layers.1.decayed
// AHEAD: "linear_dgrad"
// AHEAD: plan.collective all_gather %zero.layers.0.undecayed
// AHEAD-NEXT: plan.collective all_gather %zero.layers.0.decayed
// AHEAD: plan.segment update
//
// Two groups of two: pieces are cut over dp and, reduced there, summed over the groups in the update.
// RUN: tgpt-opt %s --dp=4 --zero=2 --zero-group=2 --bucket-mib=0 --compile-to=plan | FileCheck %s --check-prefix=GROUPS --implicit-check-not=plan.collective
// GROUPS: mesh (dp_replica = 2, dp = 2, pp = 1, tp = 1)
// GROUPS: plan.segment backward "backward"
// GROUPS: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 48, bytes_written = 24>{{.*}} : <12xf32> to <6xf32>
// GROUPS: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 96, bytes_written = 48>{{.*}} : <24xf32> to <12xf32>
// GROUPS: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 16, bytes_written = 8>{{.*}} : <4xf32> to <2xf32>
// GROUPS: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 96, bytes_written = 48>{{.*}} : <24xf32> to <12xf32>
// GROUPS: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 16, bytes_written = 8>{{.*}} : <4xf32> to <2xf32>
// GROUPS: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 48, bytes_written = 24>{{.*}} : <12xf32> to <6xf32>
// GROUPS: plan.segment update "update"
// GROUPS: plan.collective all_reduce_sum %token_count to %token_count over @dp_dp_replica {{.*}} : <f32> to <f32>
// GROUPS: plan.collective all_reduce_sum %zero.embed.decayed.gradient to %zero.embed.decayed.gradient over @dp_replica {{.*}}bytes_read = 24, bytes_written = 24>{{.*}} : <6xf32> to <6xf32>
// GROUPS: plan.collective all_reduce_sum %zero.layers.0.undecayed.gradient to %zero.layers.0.undecayed.gradient over @dp_replica {{.*}}bytes_read = 8, bytes_written = 8>{{.*}} : <2xf32> to <2xf32>
// GROUPS: plan.collective all_reduce_sum %zero.layers.0.decayed.gradient to %zero.layers.0.decayed.gradient over @dp_replica {{.*}}bytes_read = 48, bytes_written = 48>{{.*}} : <12xf32> to <12xf32>
// GROUPS: plan.collective all_reduce_sum %zero.layers.1.undecayed.gradient to %zero.layers.1.undecayed.gradient over @dp_replica {{.*}}bytes_read = 8, bytes_written = 8>{{.*}} : <2xf32> to <2xf32>
// GROUPS: plan.collective all_reduce_sum %zero.layers.1.decayed.gradient to %zero.layers.1.decayed.gradient over @dp_replica {{.*}}bytes_read = 48, bytes_written = 48>{{.*}} : <12xf32> to <12xf32>
// GROUPS: plan.collective all_reduce_sum %zero.embed.decayed.gradient.sum_squares to {{.*}} over @dp cost {{.*}} : <f32> to <f32>
// GROUPS: plan.collective all_reduce_sum %loss_sum to %loss_sum over @dp_dp_replica {{.*}} : <f32> to <f32>
// GROUPS: plan.collective all_gather %{{[^ ]+}} to %zero.embed.decayed.parameter over @dp {{.*}}bytes_read = 24, bytes_written = 48>
// GROUPS: plan.collective all_gather %{{[^ ]+}} to %zero.layers.0.undecayed.parameter over @dp {{.*}}bytes_read = 8, bytes_written = 16>
// GROUPS: plan.collective all_gather %{{[^ ]+}} to %zero.layers.0.decayed.parameter over @dp {{.*}}bytes_read = 48, bytes_written = 96>
// GROUPS: plan.collective all_gather %{{[^ ]+}} to %zero.layers.1.undecayed.parameter over @dp {{.*}}bytes_read = 8, bytes_written = 16>
// GROUPS: plan.collective all_gather %{{[^ ]+}} to %zero.layers.1.decayed.parameter over @dp {{.*}}bytes_read = 48, bytes_written = 96>
//
// A rank that has nothing to share needs no phase.
// RUN: tgpt-opt %s --zero=3 --compile-to=pipelined -o %t.one
// RUN: tgpt-opt %s --compile-to=pipelined | diff %t.one -

// ONE: plan.segment begin "begin"
// ONE: plan.segment forward "forward"
// ONE: plan.segment backward "backward"
// ONE: plan.segment update "update"
// ONE: plan.collective all_reduce_sum %token_count to %token_count over @dp {{.*}}bytes_read = 4, bytes_written = 4>{{.*}} : <f32> to <f32>
// ONE: plan.collective reduce_scatter %zero.embed.decayed.gradient to %{{[^ ]+}} over @dp {{.*}}bytes_read = 48, bytes_written = 24>{{.*}} : <12xf32> to <6xf32>
// ONE: plan.collective reduce_scatter %zero.layers.0.undecayed.gradient to %{{[^ ]+}} over @dp {{.*}}bytes_read = 16, bytes_written = 8>{{.*}} : <4xf32> to <2xf32>
// ONE: plan.collective reduce_scatter %zero.layers.0.decayed.gradient to %{{[^ ]+}} over @dp {{.*}}bytes_read = 96, bytes_written = 48>{{.*}} : <24xf32> to <12xf32>
// ONE: plan.collective reduce_scatter %zero.layers.1.undecayed.gradient to %{{[^ ]+}} over @dp {{.*}}bytes_read = 16, bytes_written = 8>{{.*}} : <4xf32> to <2xf32>
// ONE: plan.collective reduce_scatter %zero.layers.1.decayed.gradient to %{{[^ ]+}} over @dp {{.*}}bytes_read = 96, bytes_written = 48>{{.*}} : <24xf32> to <12xf32>
// ONE: plan.collective all_reduce_sum %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 4, bytes_written = 4>{{.*}} : <f32> to <f32>
// ONE: plan.collective all_reduce_sum %loss_sum to %loss_sum over @dp {{.*}}bytes_read = 4, bytes_written = 4>{{.*}} : <f32> to <f32>
// ONE: plan.collective all_gather %{{[^ ]+}} to %zero.embed.decayed.parameter over @dp {{.*}}bytes_read = 24, bytes_written = 48>{{.*}} : <6xf32> to <12xf32>
// ONE: plan.collective all_gather %{{[^ ]+}} to %zero.layers.0.undecayed.parameter over @dp {{.*}}bytes_read = 8, bytes_written = 16>{{.*}} : <2xf32> to <4xf32>
// ONE: plan.collective all_gather %{{[^ ]+}} to %zero.layers.0.decayed.parameter over @dp {{.*}}bytes_read = 48, bytes_written = 96>{{.*}} : <12xf32> to <24xf32>
// ONE: plan.collective all_gather %{{[^ ]+}} to %zero.layers.1.undecayed.parameter over @dp {{.*}}bytes_read = 8, bytes_written = 16>{{.*}} : <2xf32> to <4xf32>
// ONE: plan.collective all_gather %{{[^ ]+}} to %zero.layers.1.decayed.parameter over @dp {{.*}}bytes_read = 48, bytes_written = 96>{{.*}} : <12xf32> to <24xf32>

// TWO: plan.segment begin "begin"
// TWO: plan.segment forward "forward"
// TWO: plan.segment backward "backward"
// TWO: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 48, bytes_written = 24>{{.*}} : <12xf32> to <6xf32>
// TWO: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 96, bytes_written = 48>{{.*}} : <24xf32> to <12xf32>
// TWO: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 16, bytes_written = 8>{{.*}} : <4xf32> to <2xf32>
// TWO: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 96, bytes_written = 48>{{.*}} : <24xf32> to <12xf32>
// TWO: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 16, bytes_written = 8>{{.*}} : <4xf32> to <2xf32>
// TWO: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 48, bytes_written = 24>{{.*}} : <12xf32> to <6xf32>
// TWO: plan.segment update "update"
// TWO: plan.collective all_reduce_sum %token_count to %token_count over @dp {{.*}}bytes_read = 4, bytes_written = 4>{{.*}} : <f32> to <f32>
// TWO: plan.collective all_reduce_sum %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 4, bytes_written = 4>{{.*}} : <f32> to <f32>
// TWO: plan.collective all_reduce_sum %loss_sum to %loss_sum over @dp {{.*}}bytes_read = 4, bytes_written = 4>{{.*}} : <f32> to <f32>
// TWO: plan.collective all_gather %{{[^ ]+}} to %zero.embed.decayed.parameter over @dp {{.*}}bytes_read = 24, bytes_written = 48>{{.*}} : <6xf32> to <12xf32>
// TWO: plan.collective all_gather %{{[^ ]+}} to %zero.layers.0.undecayed.parameter over @dp {{.*}}bytes_read = 8, bytes_written = 16>{{.*}} : <2xf32> to <4xf32>
// TWO: plan.collective all_gather %{{[^ ]+}} to %zero.layers.0.decayed.parameter over @dp {{.*}}bytes_read = 48, bytes_written = 96>{{.*}} : <12xf32> to <24xf32>
// TWO: plan.collective all_gather %{{[^ ]+}} to %zero.layers.1.undecayed.parameter over @dp {{.*}}bytes_read = 8, bytes_written = 16>{{.*}} : <2xf32> to <4xf32>
// TWO: plan.collective all_gather %{{[^ ]+}} to %zero.layers.1.decayed.parameter over @dp {{.*}}bytes_read = 48, bytes_written = 96>{{.*}} : <12xf32> to <24xf32>

// THREE: plan.segment begin "begin"
// THREE: plan.segment forward "forward"
// THREE: plan.collective all_gather %zero.embed.decayed.parameter to %{{[^ ]+}} over @dp {{.*}}bytes_read = 24, bytes_written = 48>{{.*}} : <6xf32> to <12xf32>
// THREE: plan.collective all_gather %zero.layers.0.undecayed.parameter to %{{[^ ]+}} over @dp {{.*}}bytes_read = 8, bytes_written = 16>{{.*}} : <2xf32> to <4xf32>
// THREE: plan.collective all_gather %zero.layers.0.decayed.parameter to %{{[^ ]+}} over @dp {{.*}}bytes_read = 48, bytes_written = 96>{{.*}} : <12xf32> to <24xf32>
// THREE: plan.collective all_gather %zero.layers.1.undecayed.parameter to %{{[^ ]+}} over @dp {{.*}}bytes_read = 8, bytes_written = 16>{{.*}} : <2xf32> to <4xf32>
// THREE: plan.collective all_gather %zero.layers.1.decayed.parameter to %{{[^ ]+}} over @dp {{.*}}bytes_read = 48, bytes_written = 96>{{.*}} : <12xf32> to <24xf32>
// THREE: plan.collective all_gather %zero.embed.decayed.parameter to %{{[^ ]+}} over @dp {{.*}}bytes_read = 24, bytes_written = 48>{{.*}} : <6xf32> to <12xf32>
// THREE: plan.segment backward "backward"
// THREE: plan.collective all_gather %zero.embed.decayed.parameter to %{{[^ ]+}} over @dp {{.*}}bytes_read = 24, bytes_written = 48>{{.*}} : <6xf32> to <12xf32>
// THREE: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 48, bytes_written = 24>{{.*}} : <12xf32> to <6xf32>
// THREE: plan.collective all_gather %zero.layers.1.decayed.parameter to %{{[^ ]+}} over @dp {{.*}}bytes_read = 48, bytes_written = 96>{{.*}} : <12xf32> to <24xf32>
// THREE: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 96, bytes_written = 48>{{.*}} : <24xf32> to <12xf32>
// THREE: plan.collective all_gather %zero.layers.1.undecayed.parameter to %{{[^ ]+}} over @dp {{.*}}bytes_read = 8, bytes_written = 16>{{.*}} : <2xf32> to <4xf32>
// THREE: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 16, bytes_written = 8>{{.*}} : <4xf32> to <2xf32>
// THREE: plan.collective all_gather %zero.layers.0.decayed.parameter to %{{[^ ]+}} over @dp {{.*}}bytes_read = 48, bytes_written = 96>{{.*}} : <12xf32> to <24xf32>
// THREE: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 96, bytes_written = 48>{{.*}} : <24xf32> to <12xf32>
// THREE: plan.collective all_gather %zero.layers.0.undecayed.parameter to %{{[^ ]+}} over @dp {{.*}}bytes_read = 8, bytes_written = 16>{{.*}} : <2xf32> to <4xf32>
// THREE: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 16, bytes_written = 8>{{.*}} : <4xf32> to <2xf32>
// THREE: plan.collective reduce_scatter %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 48, bytes_written = 24>{{.*}} : <12xf32> to <6xf32>
// THREE: plan.segment update "update"
// THREE: plan.collective all_reduce_sum %token_count to %token_count over @dp {{.*}}bytes_read = 4, bytes_written = 4>{{.*}} : <f32> to <f32>
// THREE: plan.collective all_reduce_sum %{{[^ ]+}} to %{{[^ ]+}} over @dp {{.*}}bytes_read = 4, bytes_written = 4>{{.*}} : <f32> to <f32>
// THREE: plan.collective all_reduce_sum %loss_sum to %loss_sum over @dp {{.*}}bytes_read = 4, bytes_written = 4>{{.*}} : <f32> to <f32>

module @tiny {
  tgpt.parameter @embed.weight : tensor<4x3xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @"layers.*.norm.weight" : tensor<3xf32> = #tgpt.init<mean = 1.0, stddev = 0.0> per_layer 2 {no_decay}
  tgpt.parameter @"layers.*.up.weight" : tensor<4x3xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> per_layer 2
  tgpt.parameter @"layers.*.down.weight" : tensor<3x4xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> per_layer 2
  func.func @loss(%tokens: tensor<?x5xi32> {tgpt.name = "tokens"}, %labels: tensor<?x5xi32> {tgpt.name = "labels"}) -> (tensor<f32> {tgpt.name = "loss_sum"}, tensor<f32> {tgpt.name = "token_count"}) {
    %table = tgpt.read @embed.weight : tensor<4x3xf32>
    %x = tgpt.embedding %tokens, %table : (tensor<?x5xi32>, tensor<4x3xf32>) -> tensor<?x5x3xf32>
    %y = tgpt.repeat 2 (%h = %x) : tensor<?x5x3xf32> {
      %nw = tgpt.read @"layers.*.norm.weight" : tensor<3xf32>
      %n, %r = tgpt.rms_norm %h, %nw {epsilon = 1.0e-5 : f64} : (tensor<?x5x3xf32>, tensor<3xf32>) -> (tensor<?x5x3xf32>, tensor<?x5xf32>)
      %uw = tgpt.read @"layers.*.up.weight" : tensor<4x3xf32>
      %u = tgpt.linear %n, %uw : (tensor<?x5x3xf32>, tensor<4x3xf32>) -> tensor<?x5x4xf32>
      %dw = tgpt.read @"layers.*.down.weight" : tensor<3x4xf32>
      %d = tgpt.linear %u, %dw : (tensor<?x5x4xf32>, tensor<3x4xf32>) -> tensor<?x5x3xf32>
      tgpt.yield %d : tensor<?x5x3xf32>
    }
    %logits = tgpt.linear %y, %table : (tensor<?x5x3xf32>, tensor<4x3xf32>) -> tensor<?x5x4xf32>
    %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (tensor<?x5x4xf32>, tensor<?x5xi32>) -> (tensor<f32>, tensor<f32>, tensor<?x5xf32>)
    return %loss, %count : tensor<f32>, tensor<f32>
  }
}
