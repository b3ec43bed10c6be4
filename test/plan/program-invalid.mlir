// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

// C1: an axis once.
// expected-error @below {{mesh names axis 'tp' twice}}
plan.program @program_c1_twice mesh (tp = 2, tp = 2) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
  }
}

// -----

// C1: sizes count devices.
// expected-error @below {{mesh axis 'tp' has size 0, expected at least 1}}
plan.program @program_c1_size mesh (tp = 0) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
  }
}

// -----

// C2: a program for each stage.
// expected-error @below {{has 1 stages, but mesh axis 'pp' has size 2}}
plan.program @program_c2_missing mesh (pp = 2) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
  }
}

// -----

// C2: in order.
plan.program @program_c2_order mesh (pp = 2) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  // expected-error @below {{is stage 1 in place of stage 0}}
  plan.stage 1 {
  }
  plan.stage 0 {
  }
}

// -----

// C3: nothing else.
plan.program @program_c3_other mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
  }
  // expected-error @below {{is not a group, channel or stage of the plan}}
  dist.mesh @mesh (tp = 2)
}

// -----

// C1: an axis of the mesh.
plan.program @group_c1_unknown mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  // expected-error @below {{axis 'cp' is not an axis of the mesh}}
  plan.group @g over ["cp"]
  plan.stage 0 {
  }
}

// -----

// C1: once.
plan.program @group_c1_twice mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  // expected-error @below {{names axis 'tp' twice}}
  plan.group @g over ["tp", "tp"]
  plan.stage 0 {
  }
}

// -----

// C1: at least one.
plan.program @group_c1_none mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  // expected-error @below {{has no axes}}
  plan.group @g over []
  plan.stage 0 {
  }
}

// -----

// C2: stages lie along pp.
plan.program @group_c2_no_pp mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  // expected-error @below {{lists stages, but has no axis 'pp'}}
  plan.group @g over ["tp"] stages [0]
  plan.stage 0 {
  }
}

// -----

// C2: stages exist and ascend.
plan.program @group_c2_range mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  // expected-error @below {{lists stage 1 after 0, expected ascending stages below 1}}
  plan.group @g over ["pp"] stages [0, 1]
  plan.stage 0 {
  }
}

// -----

// C1: a stage that exists.
plan.program @channel_c1_range mesh (pp = 2) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  // expected-error @below {{ends at stage 2, but the program has 2 stages}}
  plan.channel @c from 0 to 2 depth 1 : !plan.buffer<4xf32>
  plan.stage 0 {
  }
  plan.stage 1 {
  }
}

// -----

// C2: room for a message.
plan.program @channel_c2_depth mesh (pp = 2) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  // expected-error @below {{has depth 0, expected at least 1}}
  plan.channel @c from 0 to 1 depth 0 : !plan.buffer<4xf32>
  plan.stage 0 {
  }
  plan.stage 1 {
  }
}

// -----

// C4: the samples of a step fit.
// expected-error @below {{a step has 9 samples, but its micro-batches hold 8}}
plan.program @program_c4_batch mesh (dp = 2, pp = 1) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32, global_batch = 9> seed 0 options "" {
  plan.stage 0 {
  }
}
