// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

// A part ends within its whole (C3).
plan.program @part_beyond mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region scratch slots 1
    %b = plan.buffer "b" in scratch : !plan.buffer<8xf32>
    // expected-error @below {{'p' ends at byte 36 of 'b', which has 32}}
    %p = plan.buffer "p" in scratch part of %b from 20 : !plan.buffer<4xf32> of !plan.buffer<8xf32>
  }
}

// -----

// A part is no whole (C3).
plan.program @part_of_part mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region scratch slots 1
    %b = plan.buffer "b" in scratch : !plan.buffer<8xf32>
    %p = plan.buffer "p" in scratch part of %b from 0 : !plan.buffer<4xf32> of !plan.buffer<8xf32>
    // expected-error @below {{'q' is part of what is no whole buffer of its region}}
    %q = plan.buffer "q" in scratch part of %p from 0 : !plan.buffer<2xf32> of !plan.buffer<4xf32>
  }
}

// -----

// A part lies in the region of its whole (C3).
plan.program @part_region mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region scratch slots 1
    plan.region activations slots 1
    %b = plan.buffer "b" in scratch : !plan.buffer<8xf32>
    // expected-error @below {{'p' is part of what is no whole buffer of its region}}
    %p = plan.buffer "p" in activations part of %b from 0 : !plan.buffer<4xf32> of !plan.buffer<8xf32>
  }
}

// -----

// A part lies where its whole does (C3).
plan.program @part_elsewhere mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 64 {
    plan.region scratch slots 1 at 0 holds 64 live 32
    %b = plan.buffer "b" in scratch at 0 : !plan.buffer<8xf32>
    // expected-error @below {{'p' does not lie 4 bytes behind the beginning of 'b'}}
    %p = plan.buffer "p" in scratch at 8 part of %b from 4 : !plan.buffer<4xf32> of !plan.buffer<8xf32>
  }
}

// -----

// A flat variable ends within the flat tensor (C3): 2 pieces of 8.
plan.program @flat_beyond mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region optimizer slots 1
    %m = plan.buffer "m" in optimizer : !plan.buffer<8xf32>
    // expected-error @below {{'m' has elements 13 to 17 of a flat tensor of 16}}
    plan.variable moment1 "m" of "w" in %m flat at 13 over ["dp"] layout <[tp], of = [12]> init <value = 0.0 : f64> : !plan.buffer<8xf32>
  }
}

// -----

// The axes of the pieces are not those of the layout (C3).
plan.program @flat_axes mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region optimizer slots 1
    %m = plan.buffer "m" in optimizer : !plan.buffer<8xf32>
    // expected-error @below {{'m' lies in pieces over 'tp', which is no axis of the mesh or is one of its layout}}
    plan.variable moment1 "m" of "w" in %m flat at 0 over ["tp"] layout <[tp], of = [12]> init <value = 0.0 : f64> : !plan.buffer<8xf32>
  }
}

// -----

// The shards are even (C3).
plan.program @flat_uneven mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region optimizer slots 1
    %m = plan.buffer "m" in optimizer : !plan.buffer<8xf32>
    // expected-error @below {{'m' has global dim 0 of 13 over 3 ranks}}
    plan.variable moment1 "m" of "w" in %m flat at 0 over ["dp"] layout <[tp], of = [13]> init <value = 0.0 : f64> : !plan.buffer<8xf32>
  }
}

// -----

// A window has the dims of the variable (C4).
plan.program @window_rank mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region parameters slots 1
    %w = plan.buffer "w" in parameters : !plan.buffer<4xf32>
    // expected-error @below {{'w' has a window of 2 dims, but its layout has 1 global dims}}
    plan.variable parameter "w" of "w" in %w layout <[tp], of = [12]> init <value = 0.0 : f64> owner {window = #dist.window<"w", shape = [11, 1], at = [0, 0]>} : !plan.buffer<4xf32>
  }
}

// -----

// A metric is no part of a parameter (C4).
plan.program @window_metric mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region gradients slots 1
    %w = plan.buffer "w" in gradients : !plan.buffer<12xf32>
    // expected-error @below {{'w' has a window, but belongs to no parameter}}
    plan.variable metric "w" in %w layout <[-], of = [12]> init <value = 0.0 : f64> owner {window = #dist.window<"w", shape = [11], at = [0]>} : !plan.buffer<12xf32>
  }
}
