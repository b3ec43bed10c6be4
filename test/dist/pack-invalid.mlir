// RUN: tgpt-opt %s --split-input-file --verify-diagnostics

// C1
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
func.func @global(%0: tensor<4xf32, #dist.layout<[-]>>) {
  // expected-error @+1 {{'dist.pack' op operand 0 has type 'tensor<4xf32, #dist.layout<[-]>>', which is not local}}
  %1 = dist.pack %0 at [0] : tensor<4xf32, #dist.layout<[-]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
  return
}

// -----

// C1
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
func.func @elements(%0: tensor<4xf32, #dist.layout<[-], of = [4]>>) {
  // expected-error @+1 {{'dist.unpack' op result 0 has element type 'bf16' but the flat tensor has 'f32'}}
  %1 = dist.unpack %0 at [0] : tensor<4xf32, #dist.layout<[-], of = [4]>> to tensor<4xbf16, #dist.layout<[-], of = [4]>>
  return
}

// -----

// C2
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
func.func @overlap(%0: tensor<4xf32, #dist.layout<[-], of = [4]>>) {
  // expected-error @+1 {{'dist.pack' op operand 1 begins at element 3 but what is before it ends at 4}}
  %1 = dist.pack %0, %0 at [0, 3] : tensor<4xf32, #dist.layout<[-], of = [4]>>, tensor<4xf32, #dist.layout<[-], of = [4]>> to tensor<8xf32, #dist.layout<[-], of = [8]>>
  return
}

// -----

// C2
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
func.func @beyond(%0: tensor<8xf32, #dist.layout<[-], of = [8]>>) {
  // expected-error @+1 {{'dist.unpack' op result 0 ends at element 9 of a flat tensor of 8}}
  %1 = dist.unpack %0 at [5] : tensor<8xf32, #dist.layout<[-], of = [8]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
  return
}

// -----

// C2
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
func.func @offsets(%0: tensor<4xf32, #dist.layout<[-], of = [4]>>) {
  // expected-error @+1 {{'dist.pack' op has 1 operands but 2 offsets}}
  %1 = dist.pack %0 at [0, 4] : tensor<4xf32, #dist.layout<[-], of = [4]>> to tensor<8xf32, #dist.layout<[-], of = [8]>>
  return
}

// -----

// C3: a shard in a flat tensor that says every rank has the same
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
func.func @sharding(%0: tensor<4xf32, #dist.layout<[tp], of = [8]>>) {
  // expected-error @+1 {{'dist.pack' op operand 0 is sharded by "tp" but the flat tensor's first dim by no axis}}
  %1 = dist.pack %0 at [0] : tensor<4xf32, #dist.layout<[tp], of = [8]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
  return
}

// -----

// C3
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
func.func @shape(%0: tensor<4xf32, #dist.layout<[-], of = [4]>>) {
  // expected-error @+1 {{'dist.pack' op flat type 'tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>>' has dims before the last that are not one}}
  %1 = dist.pack %0 at [0] : tensor<4xf32, #dist.layout<[-], of = [4]>> to tensor<2x2xf32, #dist.layout<[-, -], of = [2, 2]>>
  return
}

// -----

// C3: a piece of a flat tensor is not where parts are whole
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
func.func @piece(%0: tensor<4xf32, #dist.layout<[dp], of = [8]>>) {
  // expected-error @+1 {{'dist.unpack' op flat type 'tensor<4xf32, #dist.layout<[dp], of = [8]>>' is a piece; parts are those of the whole}}
  %1 = dist.unpack %0 at [0] : tensor<4xf32, #dist.layout<[dp], of = [8]>> to tensor<8xf32, #dist.layout<[-], of = [8]>>
  return
}

// -----

// C4: an addend taken for the sum
dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
func.func @partial(%0: tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>) {
  // expected-error @+1 {{'dist.pack' op operand 0 is partial over "dp" but the flat tensor over no axis}}
  %1 = dist.pack %0 at [0] : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
  return
}
