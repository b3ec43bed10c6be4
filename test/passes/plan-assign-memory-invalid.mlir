// RUN: tgpt-opt %s --plan-assign-memory -split-input-file -verify-diagnostics

// Each of these fits 63 bits, the arena would not.
plan.program @too_large mesh (tp = 1) training <sequence_length = 8, samples = 2, micro_batches = 1, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region scratch slots 1
    %a = plan.buffer "a" in scratch : !plan.buffer<1073741824x268435456xf64>
    // expected-error @below {{'b' takes the arena beyond 4611686018427387904 bytes}}
    %b = plan.buffer "b" in scratch : !plan.buffer<1073741824x268435456xf64>
  }
}
