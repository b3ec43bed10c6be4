// RUN: tgpt-opt %s --dist-chunk-reductions -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --dist-chunk-reductions='chunks=2' -split-input-file | FileCheck %s --check-prefix=TWO

// What tensor parallelism may shard is cut into as many chunks as were asked for, or the
// most below that divide it; a batch into samples; heads stay whole.
module @cut attributes {tgpt.reduction = "canonical"} {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
  // CHECK-LABEL: @features
  // TWO-LABEL: @features
  func.func @features(%x: tensor<3x4x16xf32, #dist.layout<[-, -, -]>>, %w: tensor<5x16xf32, #dist.layout<[-, -]>>,
                      %y: tensor<3x4x12xf32, #dist.layout<[-, -, -]>>, %v: tensor<5x12xf32, #dist.layout<[-, -]>>) {
    // CHECK: tgpt.linear %{{.+}} {tgpt.chunks = #tgpt.chunks<count = 8, operand = 0, dim = 2>}
    // TWO: #tgpt.chunks<count = 2, operand = 0, dim = 2>
    %0 = tgpt.linear %x, %w : (tensor<3x4x16xf32, #dist.layout<[-, -, -]>>, tensor<5x16xf32, #dist.layout<[-, -]>>) -> tensor<3x4x5xf32, #dist.layout<[-, -, -]>>
    // CHECK: tgpt.linear %{{.+}} {tgpt.chunks = #tgpt.chunks<count = 4, operand = 0, dim = 2>}
    %1 = tgpt.linear %y, %v : (tensor<3x4x12xf32, #dist.layout<[-, -, -]>>, tensor<5x12xf32, #dist.layout<[-, -]>>) -> tensor<3x4x5xf32, #dist.layout<[-, -, -]>>
    return
  }
  // CHECK-LABEL: @samples
  func.func @samples(%dy: tensor<3x4x5xf32, #dist.layout<[-, -, -]>>, %x: tensor<3x4x16xf32, #dist.layout<[-, -, -]>>) {
    // CHECK: tgpt.linear_wgrad {{.*}} {tgpt.chunks = #tgpt.chunks<count = 3, operand = 0, dim = 0>}
    %0 = tgpt.linear_wgrad %dy, %x : (tensor<3x4x5xf32, #dist.layout<[-, -, -]>>, tensor<3x4x16xf32, #dist.layout<[-, -, -]>>) -> tensor<5x16xf32, #dist.layout<[-, -]>>
    return
  }
  // Three linears with 16, 24 and 8 features share chunks of 2, 3 and 1 eighths.
  // CHECK-LABEL: @features_of_several
  func.func @features_of_several(%a: tensor<4x16xf32, #dist.layout<[-, -]>>, %b: tensor<4x24xf32, #dist.layout<[-, -]>>, %c: tensor<4x8xf32, #dist.layout<[-, -]>>,
                                 %u: tensor<16x5xf32, #dist.layout<[-, -]>>, %v: tensor<24x5xf32, #dist.layout<[-, -]>>, %w: tensor<8x5xf32, #dist.layout<[-, -]>>) {
    // CHECK: tgpt.linear_dgrad_sum {{.*}} {tgpt.chunks = #tgpt.chunks<count = 8, operand = 2, dim = 1>}
    %0 = tgpt.linear_dgrad_sum %a, %b, %c, %u, %v, %w : (tensor<4x16xf32, #dist.layout<[-, -]>>, tensor<4x24xf32, #dist.layout<[-, -]>>, tensor<4x8xf32, #dist.layout<[-, -]>>, tensor<16x5xf32, #dist.layout<[-, -]>>, tensor<24x5xf32, #dist.layout<[-, -]>>, tensor<8x5xf32, #dist.layout<[-, -]>>) -> tensor<4x5xf32, #dist.layout<[-, -]>>
    return
  }
  // Six heads of 4 elements: two chunks of three heads.
  // CHECK-LABEL: @heads
  func.func @heads(%dy: tensor<2x3x24xf32, #dist.layout<[-, -, -]>>, %q: tensor<2x3x24xf32, #dist.layout<[-, -, -]>>, %w: tensor<4xf32, #dist.layout<[-]>>) {
    // CHECK: tgpt.head_norm_grad {{.*}}tgpt.chunks = #tgpt.chunks<count = 2, operand = 1, dim = 2>
    %dq, %dw = tgpt.head_norm_grad %dy, %q, %w {epsilon = 1.0e-5 : f64} : (tensor<2x3x24xf32, #dist.layout<[-, -, -]>>, tensor<2x3x24xf32, #dist.layout<[-, -, -]>>, tensor<4xf32, #dist.layout<[-]>>) -> (tensor<2x3x24xf32, #dist.layout<[-, -, -]>>, tensor<2x4xf32, #dist.layout<[-, -]>>)
    return
  }
  // The squares of a gradient are cut along the dim that its layout shards, be it by one rank.
  // CHECK-LABEL: @squares
  func.func @squares(%rows: tensor<16x5xf32, #dist.layout<[tp, -]>>, %columns: tensor<5x16xf32, #dist.layout<[-, tp]>>, %whole: tensor<5x16xf32, #dist.layout<[-, -]>>) {
    // CHECK: tgpt.sum_squares {{.*}} {tgpt.chunks = #tgpt.chunks<count = 8, operand = 0, dim = 0>}
    %0 = tgpt.sum_squares %rows : (tensor<16x5xf32, #dist.layout<[tp, -]>>) -> tensor<f32, #dist.layout<[], partial = [tp]>>
    // CHECK: tgpt.sum_squares {{.*}} {tgpt.chunks = #tgpt.chunks<count = 8, operand = 0, dim = 1>}
    %1 = tgpt.sum_squares %columns : (tensor<5x16xf32, #dist.layout<[-, tp]>>) -> tensor<f32, #dist.layout<[], partial = [tp]>>
    // CHECK: tgpt.sum_squares {{.*}} {tgpt.chunks = #tgpt.chunks<count = 1, operand = 0, dim = 0>}
    %2 = tgpt.sum_squares %whole : (tensor<5x16xf32, #dist.layout<[-, -]>>) -> tensor<f32, #dist.layout<[]>>
    return
  }
  // A look-up adds zeros to one row: no order to fix.
  // CHECK-LABEL: @exact
  func.func @exact(%ids: tensor<2x3xi32, #dist.layout<[-, -]>>, %table: tensor<16x5xf32, #dist.layout<[tp, -]>>) {
    // CHECK-NOT: tgpt.chunks
    %0 = tgpt.embedding %ids, %table : (tensor<2x3xi32, #dist.layout<[-, -]>>, tensor<16x5xf32, #dist.layout<[tp, -]>>) -> tensor<2x3x5xf32, #dist.layout<[-, -, -], partial = [tp]>>
    return
  }
}

// -----

// Any other module stays as it is.
// CHECK-LABEL: module @fast
// CHECK-NOT: tgpt.chunks
module @fast {
  func.func @features(%x: tensor<4x16xf32>, %w: tensor<5x16xf32>) -> tensor<4x5xf32> {
    %0 = tgpt.linear %x, %w : (tensor<4x16xf32>, tensor<5x16xf32>) -> tensor<4x5xf32>
    return %0 : tensor<4x5xf32>
  }
}
