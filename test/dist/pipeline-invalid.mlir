// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

// expected-note @+1 {{mesh declared here}}
dist.mesh @mesh (pp = 2)
func.func @segment_c1_stage_in_range() {
  // expected-error @+1 {{stage is 2 but "pp" = 2 has stages 0 to 1}}
  dist.segment update stage 2 {
  }
  return
}

// -----

func.func @segment_c1_stage_not_negative() {
  // expected-error @+1 {{stage is -1 but 0 is the first stage}}
  dist.segment update stage -1 {
  }
  return
}

// -----

dist.mesh @mesh (pp = 2)
func.func @segment_c2_value_of_another_stage(%x: tensor<4xf32>) {
  // expected-note @+1 {{value comes from here}}
  %0 = dist.segment forward stage 0 {
    %h = tgpt.gelu %x : (tensor<4xf32>) -> tensor<4xf32>
    dist.yield %h : tensor<4xf32>
  } : tensor<4xf32>
  dist.segment forward stage 1 {
    // expected-error @+1 {{in a segment of stage 1 uses a value of stage 0 without a dist.send_recv}}
    %h = tgpt.gelu %0 : (tensor<4xf32>) -> tensor<4xf32>
  }
  return
}

// -----

dist.mesh @mesh (pp = 3)
func.func @segment_c2_value_sent_elsewhere(%x: tensor<4xf32>) {
  %0 = dist.segment forward stage 0 {
    dist.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  // expected-note @+1 {{sent here}}
  %1 = dist.send_recv %0 from 0 to 1 : tensor<4xf32>
  dist.segment forward stage 2 {
    // expected-error @+1 {{in a segment of stage 2 uses a value sent to stage 1}}
    %h = tgpt.gelu %1 : (tensor<4xf32>) -> tensor<4xf32>
  }
  return
}

// -----

func.func @segment_c3_yield_count(%x: tensor<4xf32>) {
  %0:2 = dist.segment forward stage 0 {
    // expected-error @+1 {{yields 1 values but the segment has 2 results}}
    dist.yield %x : tensor<4xf32>
  } : tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @segment_c3_yield_types(%x: tensor<4xf32>) {
  %0 = dist.segment forward stage 0 {
    // expected-error @+1 {{value 0 has type 'tensor<4xf32>' but the segment's result has 'tensor<4xf64>'}}
    dist.yield %x : tensor<4xf32>
  } : tensor<4xf64>
  return
}

// -----

func.func @segment_kind() {
  // expected-error @+1 {{'sideways' is not begin, forward, backward, weight_gradient or update}}
  dist.segment sideways stage 0 {
  }
  return
}

// -----

dist.mesh @mesh (pp = 2)
func.func @send_recv_c1_stages_differ(%x: tensor<4xf32>) {
  %0 = dist.segment forward stage 0 {
    dist.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  // expected-error @+1 {{sends from stage 0 to itself}}
  %1 = dist.send_recv %0 from 0 to 0 : tensor<4xf32>
  return
}

// -----

// expected-note @+1 {{mesh declared here}}
dist.mesh @mesh (pp = 2)
func.func @send_recv_c1_in_range(%x: tensor<4xf32>) {
  %0 = dist.segment forward stage 0 {
    dist.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  // expected-error @+1 {{to is 2 but "pp" = 2 has stages 0 to 1}}
  %1 = dist.send_recv %0 from 0 to 2 : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh (pp = 2)
func.func @send_recv_c2_comes_from_stage(%x: tensor<4xf32>) {
  // expected-note @+1 {{comes from stage 0}}
  %0 = dist.segment forward stage 0 {
    dist.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  // expected-error @+1 {{operand must come from a segment of stage 1}}
  %1 = dist.send_recv %0 from 1 to 0 : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh (pp = 2)
func.func @send_recv_c2_comes_from_segment(%x: tensor<4xf32>) {
  // expected-error @+1 {{operand must come from a segment of stage 0}}
  %1 = dist.send_recv %x from 0 to 1 : tensor<4xf32>
  return
}

// -----

func.func @segment_c1_chunk_not_negative() {
  // expected-error @+1 {{chunk is -1 but chunks are 0 to 4095}}
  dist.segment forward stage 0 chunk -1 {
  }
  return
}

// -----

func.func @segment_c1_chunk_in_range() {
  // expected-error @+1 {{chunk is 4611686018427387904 but chunks are 0 to 4095}}
  dist.segment forward stage 0 chunk 4611686018427387904 {
  }
  return
}

// -----

func.func @segment_c1_update_has_no_chunk() {
  // expected-error @+1 {{of kind 'update' is of chunk 1 but a stage has one for all its chunks}}
  dist.segment update stage 0 chunk 1 {
  }
  return
}

// -----

// Chunks of one stage do not share memory.
func.func @segment_c2_value_of_another_chunk(%x: tensor<4xf32>) {
  // expected-note @+1 {{value comes from here}}
  %0 = dist.segment forward stage 0 chunk 1 {
    dist.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  dist.segment forward stage 0 chunk 2 {
    // expected-error @+1 {{in a segment of stage 0 chunk 2 uses a value of stage 0 chunk 1 without a dist.send_recv}}
    %h = tgpt.gelu %0 : (tensor<4xf32>) -> tensor<4xf32>
  }
  return
}

// -----

func.func @segment_c2_value_sent_to_another_chunk(%x: tensor<4xf32>) {
  %0 = dist.segment forward stage 0 {
    dist.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  // expected-note @+1 {{sent here}}
  %1 = dist.send_recv %0 from 0 to 0 chunk 1 : tensor<4xf32>
  dist.segment backward stage 0 {
    // expected-error @+1 {{in a segment of stage 0 uses a value sent to stage 0 chunk 1}}
    %h = tgpt.gelu %1 : (tensor<4xf32>) -> tensor<4xf32>
  }
  return
}

// -----

// A backward does not wait for its weight_gradient.
func.func @segment_c2_value_of_a_later_kind(%x: tensor<4xf32>) {
  // expected-note @+1 {{value comes from here}}
  %0 = dist.segment weight_gradient stage 0 {
    dist.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  dist.segment backward stage 0 {
    // expected-error @+1 {{in a backward segment of stage 0 uses a value of its weight_gradient, which runs no earlier}}
    %h = tgpt.gelu %0 : (tensor<4xf32>) -> tensor<4xf32>
  }
  return
}

// -----

func.func @send_recv_c1_chunks_differ(%x: tensor<4xf32>) {
  %0 = dist.segment forward stage 0 chunk 1 {
    dist.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  // expected-error @+1 {{sends from stage 0 chunk 1 to itself}}
  %1 = dist.send_recv %0 from 0 chunk 1 to 0 chunk 1 : tensor<4xf32>
  return
}

// -----

func.func @send_recv_c1_chunk_not_negative(%x: tensor<4xf32>) {
  %0 = dist.segment forward stage 0 {
    dist.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  // expected-error @+1 {{chunk that receives is -2 but chunks are 0 to 4095}}
  %1 = dist.send_recv %0 from 0 to 0 chunk -2 : tensor<4xf32>
  return
}

// -----

func.func @send_recv_c2_comes_from_chunk(%x: tensor<4xf32>) {
  // expected-note @+1 {{comes from stage 0 chunk 1}}
  %0 = dist.segment forward stage 0 chunk 1 {
    dist.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  // expected-error @+1 {{operand must come from a segment of stage 0}}
  %1 = dist.send_recv %0 from 0 to 0 chunk 1 : tensor<4xf32>
  return
}

// -----

func.func @send_recv_c2_nobody_waits_for_a_weight_gradient(%x: tensor<4xf32>) {
  // expected-note @+1 {{comes from a weight_gradient}}
  %0 = dist.segment weight_gradient stage 0 {
    dist.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  // expected-error @+1 {{operand must come from a forward or backward segment of stage 0}}
  %1 = dist.send_recv %0 from 0 to 0 chunk 1 : tensor<4xf32>
  return
}

// -----

func.func @send_recv_c3_depth(%x: tensor<4xf32>) {
  %0 = dist.segment forward stage 0 {
    dist.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  // expected-error @+1 {{depth is 0 but a channel holds at least 1 message}}
  %1 = dist.send_recv %0 from 0 to 0 chunk 1 depth 0 : tensor<4xf32>
  return
}

// -----

// schedule c1: every micro-batch has a forward and a backward
// expected-error @+1 {{has no backward of micro-batch 1}}
dist.schedule stage 0 of 2 slots [2] warm_up [] steady ["F0@0", "F1@1", "B0@0"] cool_down []

// -----

// schedule c1: of every chunk
// expected-error @+1 {{has no forward of micro-batch 1 of chunk 1}}
dist.schedule stage 0 of 2 slots [1, 1] warm_up [] steady ["F0@0", "B0@0", "F1@0", "B1@0"] cool_down ["F0.1@0", "B0.1@0"]

// -----

// schedule c1: once
// expected-error @+1 {{entry "F0@1" repeats the forward of micro-batch 0}}
dist.schedule stage 0 of 2 slots [2] warm_up ["F0@0", "F0@1"] steady ["B0@0", "B0@1"] cool_down []

// -----

// schedule c1: once, across the lists
// expected-error @+1 {{entry "B0.1@0" repeats the backward of micro-batch 0 of chunk 1}}
dist.schedule stage 0 of 1 slots [1, 1] warm_up ["F0.1@0"] steady ["B0.1@0"] cool_down ["B0.1@0", "W0.1@0"]

// -----

// schedule c1: backward after forward
// expected-error @+1 {{entry "B0@0" has no forward of micro-batch 0 in flight in slot 0}}
dist.schedule stage 0 of 1 slots [1] warm_up ["B0@0"] steady [] cool_down ["F0@0"]

// -----

// schedule c1: of the same chunk
// expected-error @+1 {{entry "B0@0" has no forward of micro-batch 0 in flight in slot 0}}
dist.schedule stage 0 of 1 slots [1, 1] warm_up ["F0.1@0"] steady ["B0@0", "B0.1@0"] cool_down ["F0@0"]

// -----

// schedule c1: in the same slot
// expected-error @+1 {{entry "B0@1" has no forward of micro-batch 0 in flight in slot 1}}
dist.schedule stage 0 of 2 slots [2] warm_up ["F0@0"] steady ["F1@1", "B0@1"] cool_down ["B1@0"]

// -----

// schedule c1: weight_gradient after backward
// expected-error @+1 {{entry "W0@0" comes before the backward of micro-batch 0}}
dist.schedule stage 0 of 1 slots [1] warm_up ["F0@0"] steady ["W0@0"] cool_down ["B0@0"]

// -----

// schedule c1: weight_gradients for all micro-batches or none
// expected-error @+1 {{has no weight_gradient of micro-batch 1}}
dist.schedule stage 0 of 2 slots [2] warm_up ["F0@0"] steady ["F1@1", "B0@0", "W0@0"] cool_down ["B1@1"]

// -----

// schedule c2: no slot is reused in flight
// expected-error @+1 {{entry "F1@0" takes slot 0 while micro-batch 0 is in flight in it}}
dist.schedule stage 0 of 2 slots [2] warm_up ["F0@0"] steady ["F1@0", "B0@0"] cool_down ["B1@0"]

// -----

// schedule c2: nor before its weight_gradient
// expected-error @+1 {{entry "F1@0" takes slot 0 while micro-batch 0 is in flight in it}}
dist.schedule stage 0 of 2 slots [1] warm_up [] steady ["F0@0", "B0@0", "F1@0", "B1@0", "W0@0", "W1@0"] cool_down []

// -----

// schedule c2: slots are in range
// expected-error @+1 {{entry "F0@1" names slot 1 of 1}}
dist.schedule stage 0 of 1 slots [1] warm_up ["F0@1"] steady [] cool_down ["B0@1"]

// -----

// expected-error @+1 {{entry "F1@0" names micro-batch 1 of 1}}
dist.schedule stage 0 of 1 slots [1] warm_up ["F1@0"] steady [] cool_down ["B1@0"]

// -----

// expected-error @+1 {{entry "F0.2@0" names chunk 2 of 2}}
dist.schedule stage 0 of 1 slots [1, 0] warm_up ["F0.2@0"] steady [] cool_down []

// -----

// expected-error @+1 {{entry "forward" is not of the form F3@1, B3@1 or W3@1, or with a chunk F3.2@1}}
dist.schedule stage 0 of 1 slots [1] warm_up ["forward"] steady ["B0@0"] cool_down []

// -----

// expected-error @+1 {{entry "F0.@0" is not of the form F3@1, B3@1 or W3@1, or with a chunk F3.2@1}}
dist.schedule stage 0 of 1 slots [1] warm_up ["F0.@0"] steady ["B0@0"] cool_down []

// -----

// schedule c3
// expected-error @+1 {{has 2 slots for chunk 0; legal is 0 to 1, the number of micro-batches}}
dist.schedule stage 0 of 1 slots [2] warm_up ["F0@0"] steady [] cool_down ["B0@0"]

// -----

// schedule c3
// expected-error @+1 {{has 1 slots for chunk 1 but no entry of it}}
dist.schedule stage 0 of 1 slots [1, 1] warm_up ["F0@0"] steady [] cool_down ["B0@0"]

// -----

// schedule c3
// expected-error @+1 {{has 1 micro-batches and 0 chunks but needs at least 1 of each}}
dist.schedule stage 0 of 1 slots [] warm_up [] steady [] cool_down []
