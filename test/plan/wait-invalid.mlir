// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

// C4: an event and a stream come together.
plan.program @collective_c4_stream_alone mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.group @all over ["dp", "pp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<4xf32>
    %z = plan.buffer "z" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-error @below {{has an event or a communication stream, expected both or none}}
      "plan.collective"(%x, %y) {cost = #plan.cost<flops = 8, bytes_read = 16, bytes_written = 16>, group = @tp, kind = #plan<collective_kind all_reduce_sum>, stream = #plan<stream tensor>} : (!plan.buffer<4xf32>, !plan.buffer<4xf32>) -> ()
    }
  }
}

// -----

// C4: what is started does not run on the compute stream.
plan.program @collective_c4_compute mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.group @all over ["dp", "pp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<4xf32>
    %z = plan.buffer "z" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-error @below {{has an event or a communication stream, expected both or none}}
      plan.collective all_reduce_sum %x to %y over @tp event 1 on compute cost <flops = 8, bytes_read = 16, bytes_written = 16> : !plan.buffer<4xf32> to !plan.buffer<4xf32>
      plan.wait 1 for %y, %x : !plan.buffer<4xf32>, !plan.buffer<4xf32>
    }
  }
}

// -----

// C4: events count from 1.
plan.program @collective_c4_event mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.group @all over ["dp", "pp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<4xf32>
    %z = plan.buffer "z" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-error @below {{has event 0, expected at least 1}}
      plan.collective all_reduce_sum %x to %y over @tp event 0 on tensor cost <flops = 8, bytes_read = 16, bytes_written = 16> : !plan.buffer<4xf32> to !plan.buffer<4xf32>
      plan.wait 0 for %y, %x : !plan.buffer<4xf32>, !plan.buffer<4xf32>
    }
  }
}

// -----

// C4: other stages run other things meanwhile.
plan.program @collective_c4_stages mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  // expected-note @below {{group declared here}}
  plan.group @all over ["dp", "pp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<4xf32>
    %z = plan.buffer "z" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-error @below {{is started, but group @all spans pipeline stages, which differ in what they run beside it}}
      plan.collective all_reduce_sum %x to %y over @all event 1 on data cost <flops = 8, bytes_read = 16, bytes_written = 16> : !plan.buffer<4xf32> to !plan.buffer<4xf32>
      plan.wait 1 for %y, %x : !plan.buffer<4xf32>, !plan.buffer<4xf32>
    }
  }
}

// -----

// C1: a wait for each event.
plan.program @wait_c1_missing mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.group @all over ["dp", "pp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<4xf32>
    %z = plan.buffer "z" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-error @below {{starts event 1, for which nothing waits in the segment}}
      plan.collective all_reduce_sum %x to %y over @tp event 1 on tensor cost <flops = 8, bytes_read = 16, bytes_written = 16> : !plan.buffer<4xf32> to !plan.buffer<4xf32>
    }
  }
}

// -----

// C1: an event begins before it ends.
plan.program @wait_c1_too_early mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.group @all over ["dp", "pp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<4xf32>
    %z = plan.buffer "z" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-error @below {{waits for event 1, which is not in flight}}
      plan.wait 1 for %y, %x : !plan.buffer<4xf32>, !plan.buffer<4xf32>
      plan.collective all_reduce_sum %x to %y over @tp event 1 on tensor cost <flops = 8, bytes_read = 16, bytes_written = 16> : !plan.buffer<4xf32> to !plan.buffer<4xf32>
    }
  }
}

// -----

// C1: an event ends once.
plan.program @wait_c1_twice mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.group @all over ["dp", "pp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<4xf32>
    %z = plan.buffer "z" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      plan.collective all_reduce_sum %x to %y over @tp event 1 on tensor cost <flops = 8, bytes_read = 16, bytes_written = 16> : !plan.buffer<4xf32> to !plan.buffer<4xf32>
      plan.wait 1 for %y, %x : !plan.buffer<4xf32>, !plan.buffer<4xf32>
      // expected-error @below {{waits for event 1, which is not in flight}}
      plan.wait 1 for %y, %x : !plan.buffer<4xf32>, !plan.buffer<4xf32>
    }
  }
}

// -----

// C1: an event begins once.
plan.program @wait_c1_again mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.group @all over ["dp", "pp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<4xf32>
    %z = plan.buffer "z" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-note @below {{first started here}}
      plan.collective all_reduce_sum %x to %y over @tp event 1 on tensor cost <flops = 8, bytes_read = 16, bytes_written = 16> : !plan.buffer<4xf32> to !plan.buffer<4xf32>
      plan.wait 1 for %y, %x : !plan.buffer<4xf32>, !plan.buffer<4xf32>
      // expected-error @below {{starts event 1 again}}
      plan.collective all_reduce_sum %y to %z over @tp event 1 on tensor cost <flops = 8, bytes_read = 16, bytes_written = 16> : !plan.buffer<4xf32> to !plan.buffer<4xf32>
      plan.wait 1 for %z, %y : !plan.buffer<4xf32>, !plan.buffer<4xf32>
    }
  }
}

// -----

// C2: the wait holds what is in flight.
plan.program @wait_c2_buffers mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.group @all over ["dp", "pp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<4xf32>
    %z = plan.buffer "z" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-note @below {{started here}}
      plan.collective all_reduce_sum %x to %y over @tp event 1 on tensor cost <flops = 8, bytes_read = 16, bytes_written = 16> : !plan.buffer<4xf32> to !plan.buffer<4xf32>
      // expected-error @below {{of event 1 names other buffers than its collective's output and, where it differs, input}}
      plan.wait 1 for %y : !plan.buffer<4xf32>
    }
  }
}

// -----

// C3: the output is not there yet.
plan.program @wait_c3_output_read mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.group @all over ["dp", "pp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<4xf32>
    %z = plan.buffer "z" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-note @below {{started here}}
      plan.collective all_reduce_sum %x to %y over @tp event 1 on tensor cost <flops = 8, bytes_read = 16, bytes_written = 16> : !plan.buffer<4xf32> to !plan.buffer<4xf32>
      // expected-error @below {{uses the output of a collective whose event 1 is in flight}}
      plan.kernel "copy"(%y) -> (%z) {} cost <flops = 0, bytes_read = 16, bytes_written = 16> : (!plan.buffer<4xf32>) -> !plan.buffer<4xf32>
      plan.wait 1 for %y, %x : !plan.buffer<4xf32>, !plan.buffer<4xf32>
    }
  }
}

// -----

// C3: the output is not free.
plan.program @wait_c3_output_written mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.group @all over ["dp", "pp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<4xf32>
    %z = plan.buffer "z" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-note @below {{started here}}
      plan.collective all_reduce_sum %x to %y over @tp event 1 on tensor cost <flops = 8, bytes_read = 16, bytes_written = 16> : !plan.buffer<4xf32> to !plan.buffer<4xf32>
      // expected-error @below {{uses the output of a collective whose event 1 is in flight}}
      plan.kernel "fill"() -> (%y) {} cost <flops = 0, bytes_read = 0, bytes_written = 16> : () -> !plan.buffer<4xf32>
      plan.wait 1 for %y, %x : !plan.buffer<4xf32>, !plan.buffer<4xf32>
    }
  }
}

// -----

// C3: the input is still read.
plan.program @wait_c3_input_written mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.group @all over ["dp", "pp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<4xf32>
    %z = plan.buffer "z" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-note @below {{started here}}
      plan.collective all_reduce_sum %x to %y over @tp event 1 on tensor cost <flops = 8, bytes_read = 16, bytes_written = 16> : !plan.buffer<4xf32> to !plan.buffer<4xf32>
      // expected-error @below {{writes the input of a collective whose event 1 is in flight}}
      plan.kernel "fill"() -> (%x) {} cost <flops = 0, bytes_read = 0, bytes_written = 16> : () -> !plan.buffer<4xf32>
      plan.wait 1 for %y, %x : !plan.buffer<4xf32>, !plan.buffer<4xf32>
    }
  }
}

// -----

// C3: the input may be read meanwhile, but not where it is the output.
plan.program @wait_c3_in_place mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.group @all over ["dp", "pp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<4xf32>
    %z = plan.buffer "z" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-note @below {{started here}}
      plan.collective all_reduce_sum %x to %x over @tp event 1 on tensor cost <flops = 8, bytes_read = 16, bytes_written = 16> : !plan.buffer<4xf32> to !plan.buffer<4xf32>
      // expected-error @below {{uses the output of a collective whose event 1 is in flight}}
      plan.kernel "copy"(%x) -> (%z) {} cost <flops = 0, bytes_read = 16, bytes_written = 16> : (!plan.buffer<4xf32>) -> !plan.buffer<4xf32>
      plan.wait 1 for %x : !plan.buffer<4xf32>
    }
  }
}
