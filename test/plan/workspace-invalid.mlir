// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

// C4: a workspace lies in the region of workspaces.
plan.program @kernel_c4 mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region workspace slots 1
    plan.region scratch slots 1
    %w = plan.buffer "workspace.compute" in workspace : !plan.buffer<64xi32>
    %x = plan.buffer "x" in scratch : !plan.buffer<4xi32>
    plan.segment begin "begin" {
      // expected-error @below {{'fill' has the workspace 'x', which lies in the region of kind 'scratch'}}
      plan.kernel "fill"() -> (%x) {} workspace %x : !plan.buffer<4xi32> cost <flops = 0, bytes_read = 0, bytes_written = 16> : () -> !plan.buffer<4xi32>
    }
  }
}

// -----

// C5: nothing is computed in a workspace.
plan.program @segment_c5_output mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region workspace slots 1
    plan.region scratch slots 1
    %w = plan.buffer "workspace.compute" in workspace : !plan.buffer<64xi32>
    %x = plan.buffer "x" in scratch : !plan.buffer<4xi32>
    plan.segment begin "begin" {
      // expected-error @below {{uses 'workspace.compute', which is a workspace of kernels}}
      plan.kernel "fill"() -> (%w) {} cost <flops = 0, bytes_read = 0, bytes_written = 16> : () -> !plan.buffer<64xi32>
    }
  }
}

// -----

// C5: nothing comes into a workspace.
plan.program @segment_c5_host mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region workspace slots 1
    plan.region scratch slots 1
    %w = plan.buffer "workspace.compute" in workspace : !plan.buffer<64xi32>
    %x = plan.buffer "x" in scratch : !plan.buffer<4xi32>
    plan.segment begin "begin" {
      // expected-error @below {{uses 'workspace.compute', which is a workspace of kernels}}
      plan.input "x" into %w : !plan.buffer<64xi32>
    }
  }
}
