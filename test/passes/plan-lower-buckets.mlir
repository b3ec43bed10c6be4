// RUN: tgpt-opt %s --plan-lower --plan-assign-memory | FileCheck %s

// A whole bucket (parameters) is a buffer of which its members are parts; members of a bucket in pieces (moments) have a
// place in the flat tensor and no buffer.
module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<3xf32, #dist.layout<[-], of = [3]>> = #tgpt.init<mean = 1.0, stddev = 0.0>
  tgpt.parameter @b : tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state moment1 @a.m of @a : tensor<3xf32, #dist.layout<[-], of = [3]>>
  tgpt.state moment1 @b.m of @b : tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>>
  tgpt.bucket @parameters of [@a, @b] at [0, 3] : tensor<8xf32, #dist.layout<[-], of = [8]>>
  tgpt.bucket @moments of [@a.m, @b.m] at [0, 3] : tensor<4xf32, #dist.layout<[dp], of = [8]>>

  // CHECK: %parameters = plan.buffer "parameters" in parameters at 0 : <8xf32>
  // CHECK-NEXT: %moments = plan.buffer "moments" in optimizer at 0 : <4xf32>
  // CHECK-NEXT: %a = plan.buffer "a" in parameters at 0 part of %parameters from 0 : <3xf32> of !plan.buffer<8xf32>
  // CHECK-NEXT: %b = plan.buffer "b" in parameters at 12 part of %parameters from 12 : <2x2xf32> of !plan.buffer<8xf32>
  // CHECK: plan.variable parameter "a" of "a" in %a layout <[-], of = [3]>
  // CHECK: plan.variable parameter "b" of "b" in %b layout <[-, -], of = [2, 2]>
  // CHECK: plan.variable moment1 "a.m" of "a" in %moments flat at 0 over ["dp"] layout <[-], of = [3]>
  // CHECK: plan.variable moment1 "b.m" of "b" in %moments flat at 3 over ["dp"] layout <[-, -], of = [2, 2]>

  func.func @micro_batch(%x: tensor<2x5xf32, #dist.layout<[dp, -], of = [4, 5]>> {tgpt.name = "x"}) attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
      %a = tgpt.read @a : tensor<3xf32, #dist.layout<[-], of = [3]>>
      %b = tgpt.read @b : tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>>
      // The first is computed where it is packed, the second has another use and is copied; the eighth element is padding.
      %p = tgpt.gelu %a : (tensor<3xf32, #dist.layout<[-], of = [3]>>) -> tensor<3xf32, #dist.layout<[-], of = [3]>>
      %q = tgpt.gelu %b : (tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>>) -> tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>>
      %s = tgpt.gelu %q : (tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>>) -> tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>>
      %flat = dist.pack %p, %q at [0, 3] : tensor<3xf32, #dist.layout<[-], of = [3]>>, tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>> to tensor<8xf32, #dist.layout<[-], of = [8]>>
      %piece = dist.slice %flat dim 0 over ["dp"] : tensor<8xf32, #dist.layout<[-], of = [8]>> to tensor<4xf32, #dist.layout<[dp], of = [8]>>
      tgpt.accumulate %piece, @moments : tensor<4xf32, #dist.layout<[dp], of = [8]>>
      // What is gathered is read where it is.
      %m = tgpt.read @moments : tensor<4xf32, #dist.layout<[dp], of = [8]>>
      %all = dist.all_gather %m dim 0 over ["dp"] : tensor<4xf32, #dist.layout<[dp], of = [8]>> to tensor<8xf32, #dist.layout<[-], of = [8]>>
      %c, %d = dist.unpack %all at [0, 3] : tensor<8xf32, #dist.layout<[-], of = [8]>> to tensor<3xf32, #dist.layout<[-], of = [3]>>, tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>>
      %e = tgpt.gelu %d : (tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>>) -> tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>>
      // CHECK-LABEL: plan.segment forward
      // CHECK-NEXT: plan.kernel "gelu"(%a) -> (%[[P:.+]]) {}
      // CHECK-NEXT: plan.kernel "gelu"(%b) -> (%[[Q:.+]]) {}
      // CHECK-NEXT: plan.kernel "gelu"(%[[Q]]) ->
      // CHECK-NEXT: plan.kernel "copy"(%[[Q]]) -> (%[[COPY:.+]]) {}
      // CHECK-NEXT: plan.kernel "fill"() -> (%[[PADDING:.+]]) {value = 0.000000e+00 : f64}
      // CHECK-SAME: !plan.buffer<1xf32>
      // CHECK-NEXT: plan.kernel "slice"(%[[FLAT:.+]]) -> (%[[PIECE:.+]]) {
      // CHECK-NEXT: plan.kernel "accumulate"(%[[PIECE]]) -> (%moments)
      // CHECK-NEXT: plan.collective all_gather %moments to %[[ALL:.+]] over @dp dim 0
      // CHECK-NEXT: plan.kernel "gelu"(%b.m.gathered) ->
    }
    return
  }
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
}
