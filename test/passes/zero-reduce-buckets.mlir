// RUN: tgpt-opt %s --zero-form-buckets=only-gradients=true --zero-reduce-buckets -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --zero-form-buckets='only-gradients=true bucket-mib=0' --zero-reduce-buckets --tgpt-pass-statistics -split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=COUNTS

// COUNTS: zero-reduce-buckets
// COUNTS-NEXT: {{^ +}}1 buckets
// COUNTS-NEXT: {{^ +}}2 sums-replaced

// One sum for both gradients, where the first of them is needed; no parameter is in a bucket, and nothing is padded.
// CHECK-NOT: parameter of [
// CHECK: tgpt.bucket @bucket.a_to_b.decayed.gradient of [@a.gradient, @b.gradient] at [0, 3] : tensor<7xf32, #dist.layout<[-], partial = [dp], of = [7]>>
// CHECK-LABEL: func.func @update
// CHECK-NEXT: %[[ALL:.+]] = tgpt.read @bucket.a_to_b.decayed.gradient
// CHECK-NEXT: %[[SUM:.+]] = dist.all_reduce sum %[[ALL]] over ["dp"] : tensor<7xf32, #dist.layout<[-], partial = [dp], of = [7]>> to tensor<7xf32, #dist.layout<[-], of = [7]>>
// CHECK-NEXT: %[[PARTS:.+]]:2 = dist.unpack %[[SUM]] at [0, 3]
// CHECK-NEXT: tgpt.sum_squares %[[PARTS]]#0
// CHECK-NEXT: tgpt.sum_squares %[[PARTS]]#1
// CHECK-NEXT: return
module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @a : tensor<3xf32, #dist.layout<[-], of = [3]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @b : tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @a.gradient of @a : tensor<3xf32, #dist.layout<[-], partial = [dp], of = [3]>> {transient}
  tgpt.state gradient @b.gradient of @b : tensor<2x2xf32, #dist.layout<[-, -], partial = [dp], of = [2, 2]>> {transient}
  func.func @begin() attributes {tgpt.phase = "begin"} { return }
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} { return }
  func.func @update() attributes {tgpt.phase = "update"} {
    %0 = tgpt.read @a.gradient : tensor<3xf32, #dist.layout<[-], partial = [dp], of = [3]>>
    %1 = dist.all_reduce sum %0 over ["dp"] : tensor<3xf32, #dist.layout<[-], partial = [dp], of = [3]>> to tensor<3xf32, #dist.layout<[-], of = [3]>>
    %2 = tgpt.sum_squares %1 : (tensor<3xf32, #dist.layout<[-], of = [3]>>) -> tensor<f32, #dist.layout<[], of = []>>
    %3 = tgpt.read @b.gradient : tensor<2x2xf32, #dist.layout<[-, -], partial = [dp], of = [2, 2]>>
    %4 = dist.all_reduce sum %3 over ["dp"] : tensor<2x2xf32, #dist.layout<[-, -], partial = [dp], of = [2, 2]>> to tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>>
    %5 = tgpt.sum_squares %4 : (tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>>) -> tensor<f32, #dist.layout<[], of = []>>
    return
  }
}
