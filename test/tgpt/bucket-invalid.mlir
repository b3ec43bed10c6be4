// RUN: tgpt-opt %s --split-input-file --verify-diagnostics

// C1
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
// expected-error @+1 {{'tgpt.bucket' op C1: @nothing is not a parameter or state}}
tgpt.bucket @bucket of [@nothing] at [0] : tensor<4xf32, #dist.layout<[-], of = [4]>>

// -----

// C1
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
// expected-error @+1 {{C1: the bucket has no member}}
tgpt.bucket @bucket of [] at [] : tensor<4xf32, #dist.layout<[-], of = [4]>>

// -----

// C1
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.state moment1 @m of @a : tensor<4xf32, #dist.layout<[-], of = [4]>>
// expected-error @+1 {{'tgpt.bucket' op C1: @m is not of the kind of the members before it}}
tgpt.bucket @bucket of [@a, @m] at [0, 4] : tensor<8xf32, #dist.layout<[-], of = [8]>>

// -----

// C2
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
tgpt.parameter @a : tensor<4xbf16, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
// expected-error @+1 {{member '@a' has element type 'bf16' but the flat tensor has 'f32'}}
tgpt.bucket @bucket of [@a] at [0] : tensor<4xf32, #dist.layout<[-], of = [4]>>

// -----

// C3
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @b : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
// expected-error @+1 {{member '@b' begins at element 2 but what is before it ends at 4}}
tgpt.bucket @bucket of [@a, @b] at [0, 2] : tensor<8xf32, #dist.layout<[-], of = [8]>>

// -----

// C3: the whole flat tensor has 8 elements, though a rank has 4
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
// expected-error @+1 {{member '@a' ends at element 9 of a flat tensor of 8}}
tgpt.bucket @bucket of [@a] at [5] : tensor<4xf32, #dist.layout<[dp], of = [8]>>

// -----

// C4
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
tgpt.parameter @a : tensor<4xf32, #dist.layout<[tp], of = [8]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
// expected-error @+1 {{member '@a' is sharded by "tp" but the flat tensor's first dim by no axis}}
tgpt.bucket @bucket of [@a] at [0] : tensor<4xf32, #dist.layout<[-], of = [4]>>

// -----

// C5: gradients that would pass for their sum
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.state gradient @g of @a : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>
// expected-error @+1 {{C5: type 'tensor<4xf32, #dist.layout<[-], of = [4]>>' is not partial as member '@g' of type}}
tgpt.bucket @bucket of [@g] at [0] : tensor<4xf32, #dist.layout<[-], of = [4]>>

// -----

// C1 of tgpt.read
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
tgpt.parameter @a : tensor<4xf32, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
// expected-note @+1 {{@bucket declared here}}
tgpt.bucket @bucket of [@a] at [0] : tensor<4xf32, #dist.layout<[-], of = [4]>>
func.func @read() {
  // expected-error @+1 {{'tgpt.read' op C1: type 'tensor<2xf32, #dist.layout<[dp], of = [4]>>' is not the declared}}
  %0 = tgpt.read @bucket : tensor<2xf32, #dist.layout<[dp], of = [4]>>
  return
}
