// RUN: tgpt-opt %s --dist-verify-partitioned -split-input-file -verify-diagnostics

dist.mesh @mesh (tp = 2)
func.func @all_is_well(%x: tensor<4xf32, #dist.layout<[tp], of = [8]>>) -> tensor<8xf32, #dist.layout<[-], of = [8]>> {
  %0 = tgpt.gelu %x : (tensor<4xf32, #dist.layout<[tp], of = [8]>>) -> tensor<4xf32, #dist.layout<[tp], of = [8]>>
  %1 = dist.all_gather %0 dim 0 over ["tp"] : tensor<4xf32, #dist.layout<[tp], of = [8]>> to tensor<8xf32, #dist.layout<[-], of = [8]>>
  return %1 : tensor<8xf32, #dist.layout<[-], of = [8]>>
}

// -----

dist.mesh @mesh (tp = 2)
func.func @reshard_remains(%x: tensor<4xf32, #dist.layout<[tp], of = [8]>>) {
  // expected-error @+1 {{may not remain after dist-partition}}
  %0 = "dist.reshard"(%x) : (tensor<4xf32, #dist.layout<[tp], of = [8]>>) -> tensor<4xf32, #dist.layout<[tp], of = [8]>>
  return
}

// -----

dist.mesh @mesh (tp = 2)
// expected-error @+1 {{'func.func' op argument 0 has global type 'tensor<8xf32, #dist.layout<[tp]>>'}}
func.func @global_type(%x: tensor<8xf32, #dist.layout<[tp]>>) {
  return
}

// -----

dist.mesh @mesh (tp = 2)
// expected-error @+1 {{'tgpt.parameter' op "type" has type 'tensor<8x4xf32>' without a layout}}
tgpt.parameter @w : tensor<8x4xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>

// -----

// expected-error @below {{has no dist.mesh}}
module {
}
