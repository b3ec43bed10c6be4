// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

// C1: a name.
plan.program @kernel_c1_name mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-error @below {{names no kernel}}
      plan.kernel ""() -> (%x) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<4xf32>
    }
  }
}

// -----

// C1: a result.
plan.program @kernel_c1_output mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-error @below {{'fill' has no output}}
      plan.kernel "fill"(%x) -> () {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : (!plan.buffer<4xf32>) -> ()
    }
  }
}

// -----

// C2: scalars only.
plan.program @kernel_c2_scalar mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-error @below {{scalar 'value' is [1], expected an integer, float, bool, string or axis offset}}
      plan.kernel "fill"() -> (%x) {value = [1]} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> !plan.buffer<4xf32>
    }
  }
}

// -----

// C3: two results do not fit one buffer.
plan.program @kernel_c3_outputs mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-error @below {{output 1 is the buffer of an earlier output}}
      plan.kernel "split"() -> (%x, %x) {} cost <flops = 0, bytes_read = 0, bytes_written = 0> : () -> (!plan.buffer<4xf32>, !plan.buffer<4xf32>)
    }
  }
}

// -----

// C1: a group.
plan.program @collective_c1_unknown mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<6x2xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<2x2xf32>
    plan.segment begin "begin" {
      // expected-error @below {{group @dp does not exist}}
      plan.collective all_reduce_sum %x to %x over @dp cost <flops = 0, bytes_read = 0, bytes_written = 0> : !plan.buffer<6x2xf32> to !plan.buffer<6x2xf32>
    }
  }
}

// -----

// C1: with this stage in it.
plan.program @collective_c1_stage mesh (pp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  // expected-note @below {{group declared here}}
  plan.group @g over ["pp"] stages [0, 2]
  plan.stage 0 {
  }
  plan.stage 1 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<6x2xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<2x2xf32>
    plan.segment begin "begin" {
      // expected-error @below {{stage 1 is not a member of group @g}}
      plan.collective all_reduce_sum %x to %x over @g cost <flops = 0, bytes_read = 0, bytes_written = 0> : !plan.buffer<6x2xf32> to !plan.buffer<6x2xf32>
    }
  }
  plan.stage 2 {
  }
}

// -----

// C2: along which dim?
plan.program @collective_c2_no_dim mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<6x2xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<2x2xf32>
    plan.segment begin "begin" {
      // expected-error @below {{has no 'dim'}}
      plan.collective reduce_scatter %x to %y over @tp cost <flops = 0, bytes_read = 0, bytes_written = 0> : !plan.buffer<6x2xf32> to !plan.buffer<2x2xf32>
    }
  }
}

// -----

// C2: one that the buffer has.
plan.program @collective_c2_range mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<6x2xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<2x2xf32>
    plan.segment begin "begin" {
      // expected-error @below {{has 'dim' 2, but its input has 2 dims}}
      plan.collective reduce_scatter %x to %y over @tp dim 2 cost <flops = 0, bytes_read = 0, bytes_written = 0> : !plan.buffer<6x2xf32> to !plan.buffer<2x2xf32>
    }
  }
}

// -----

// C2: an all_reduce has no dim.
plan.program @collective_c2_extra mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<6x2xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<2x2xf32>
    plan.segment begin "begin" {
      // expected-error @below {{'all_reduce_sum' takes no 'dim'}}
      plan.collective all_reduce_sum %x to %x over @tp dim 0 cost <flops = 0, bytes_read = 0, bytes_written = 0> : !plan.buffer<6x2xf32> to !plan.buffer<6x2xf32>
    }
  }
}

// -----

// C2: only an all_to_all has two.
plan.program @collective_c2_concat mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<6x2xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<2x2xf32>
    plan.segment begin "begin" {
      // expected-error @below {{'all_gather' takes no 'concat'}}
      plan.collective all_gather %y to %x over @tp dim 0 concat 1 cost <flops = 0, bytes_read = 0, bytes_written = 0> : !plan.buffer<2x2xf32> to !plan.buffer<6x2xf32>
    }
  }
}

// -----

// C3: three ranks do not share two rows.
plan.program @collective_c3_divides mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<6x2xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<2x2xf32>
    plan.segment begin "begin" {
      // expected-error @below {{splits input dim 1 of 2, but the group of 3 ranks does not divide it}}
      plan.collective reduce_scatter %x to %y over @tp dim 1 cost <flops = 0, bytes_read = 0, bytes_written = 0> : !plan.buffer<6x2xf32> to !plan.buffer<2x2xf32>
    }
  }
}

// -----

// C3: what is gathered is three times as long.
plan.program @collective_c3_shape mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<6x2xf32>
    %y = plan.buffer "y" in scratch : !plan.buffer<2x2xf32>
    plan.segment begin "begin" {
      // expected-error @below {{output is '!plan.buffer<2x2xf32>', expected shape [18, 2] of 'f32' from input '!plan.buffer<6x2xf32>' within a group of 3 ranks}}
      plan.collective all_gather %x to %y over @tp dim 0 cost <flops = 0, bytes_read = 0, bytes_written = 0> : !plan.buffer<6x2xf32> to !plan.buffer<2x2xf32>
    }
  }
}

// -----

// C1: a channel.
plan.program @send_c1_unknown mesh (pp = 2) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.channel @c from 0 to 1 depth 1 : !plan.buffer<4xf32>
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-error @below {{channel @d does not exist}}
      plan.send %x on @d : !plan.buffer<4xf32>
    }
  }
  plan.stage 1 {
  }
}

// -----

// C1: that begins here.
plan.program @send_c1_stage mesh (pp = 2) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  // expected-note @below {{channel declared here}}
  plan.channel @c from 0 to 1 depth 1 : !plan.buffer<4xf32>
  plan.stage 0 {
  }
  plan.stage 1 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-error @below {{is in stage 1, but channel @c begins at stage 0}}
      plan.send %x on @c : !plan.buffer<4xf32>
    }
  }
}

// -----

// C1: and carries this.
plan.program @send_c1_type mesh (pp = 2) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  // expected-note @below {{channel declared here}}
  plan.channel @c from 0 to 1 depth 1 : !plan.buffer<4xf32>
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<5xf32>
    plan.segment begin "begin" {
      // expected-error @below {{buffer is '!plan.buffer<5xf32>', but channel @c carries '!plan.buffer<4xf32>'}}
      plan.send %x on @c : !plan.buffer<5xf32>
    }
  }
  plan.stage 1 {
  }
}

// -----

// C1: a channel that leads here.
plan.program @recv_c1_stage mesh (pp = 2) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  // expected-note @below {{channel declared here}}
  plan.channel @c from 0 to 1 depth 1 : !plan.buffer<4xf32>
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-error @below {{is in stage 0, but channel @c leads to stage 1}}
      plan.recv @c into %x : !plan.buffer<4xf32>
    }
  }
  plan.stage 1 {
  }
}

// -----

// C1: one number.
plan.program @output_c1_scalar mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    plan.segment begin "begin" {
      // expected-error @below {{'loss' is '!plan.buffer<4xf32>', expected a scalar}}
      plan.output %x as "loss" : !plan.buffer<4xf32>
    }
  }
}

// -----

// C4: a maximum is the same in any order.
plan.program @collective_c4_tree mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.group @tp over ["tp"]
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<6x2xf32>
    plan.segment begin "begin" {
      // expected-error @below {{'all_reduce_max' is no sum, so it takes no 'tree'}}
      plan.collective all_reduce_max %x to %x over @tp tree cost <flops = 0, bytes_read = 0, bytes_written = 0> : !plan.buffer<6x2xf32> to !plan.buffer<6x2xf32>
    }
  }
}
