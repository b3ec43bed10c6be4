// RUN: tgpt-opt %s --dist-partition -split-input-file -verify-diagnostics

// expected-note @+1 {{mesh declared here}}
dist.mesh @mesh (dp = 2, tp = 4)
// expected-error @+1 {{'tgpt.parameter' op @embed.weight dim 0 is 257 but "tp" = 4 does not divide it; nearest legal size is 256}}
tgpt.parameter @embed.weight : tensor<257x8xf32, #dist.layout<[tp, -]>> = #tgpt.init<mean = 0.0, stddev = 0.02>

// -----

// Fewer elements than shards: the nearest legal size is not 0.
// expected-note @+1 {{mesh declared here}}
dist.mesh @mesh (dp = 2, tp = 4)
// expected-error @+1 {{'tgpt.parameter' op @w dim 1 is 3 but "dp", "tp" = 8 does not divide it; nearest legal size is 8}}
tgpt.parameter @w : tensor<8x3xf32, #dist.layout<[-, {dp, tp}]>> = #tgpt.init<mean = 0.0, stddev = 0.02>

// -----

// expected-note @+1 {{mesh declared here}}
dist.mesh @mesh (dp = 2, tp = 4)
// expected-error @+1 {{'tgpt.parameter' op @empty dim 0 is 0 but "tp" = 4 does not divide it; nearest legal size is 4}}
tgpt.parameter @empty : tensor<0x3xf32, #dist.layout<[tp, -]>> = #tgpt.init<mean = 0.0, stddev = 0.02>

// -----

// expected-note @+1 {{mesh declared here}}
dist.mesh @mesh (dp = 2, tp = 4)
// expected-error @+1 {{'func.func' op @tokens argument 0 dim 0 is 3 but "dp" = 2 does not divide it; nearest legal size is 2}}
func.func @tokens(%x: tensor<3x8xi32, #dist.layout<[dp, -]>>) {
  return
}

// -----

// expected-note @+1 {{mesh declared here}}
dist.mesh @mesh (dp = 2, tp = 4)
func.func @value(%x: tensor<6xf32, #dist.layout<[-]>>) {
  // expected-error @+1 {{'dist.reshard' op result 0 dim 0 is 6 but "tp" = 4 does not divide it; nearest legal size is 4}}
  %0 = dist.reshard %x : tensor<6xf32, #dist.layout<[-]>> to tensor<6xf32, #dist.layout<[tp]>>
  return
}

// -----

// expected-note @+1 {{mesh declared here}}
dist.mesh @mesh (dp = 2, tp = 4)
// expected-error @+1 {{'func.func' op @unknown_axis argument 0 has axis "ep" in its layout, which is not an axis of the mesh}}
func.func @unknown_axis(%x: tensor<8xf32, #dist.layout<[ep]>>) {
  return
}

// -----

// expected-note @+1 {{mesh declared here}}
dist.mesh @mesh (pp = 2, tp = 4)
// expected-error @+1 {{'func.func' op @pipeline_axis argument 0 has axis "pp" in its layout, which holds the stages and shards no tensor}}
func.func @pipeline_axis(%x: tensor<8xf32, #dist.layout<[pp]>>) {
  return
}

// -----

dist.mesh @mesh (dp = 2)
// expected-error @+1 {{'func.func' op @dynamic argument 0 has a layout but a dynamic shape (tgpt-specialize-batch fixes it)}}
func.func @dynamic(%x: tensor<?xf32, #dist.layout<[dp]>>) {
  return
}

// -----

// expected-error @below {{has layouts but no dist.mesh that gives the sizes of their axes}}
module {
  tgpt.parameter @w : tensor<8x4xf32, #dist.layout<[tp, -]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
}
