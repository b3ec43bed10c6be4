// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

// C1: instructions belong in segments.
plan.program @stage_c1_other mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region scratch slots 1
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
    // expected-error @below {{does not belong in a stage}}
    plan.input "x" into %x : !plan.buffer<4xf32>
  }
}

// -----

// C1: one schedule.
plan.program @stage_c1_schedules mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.schedule []
    // expected-error @below {{is a second schedule of its stage}}
    plan.schedule []
  }
}

// -----

// C2: a region of each kind.
plan.program @stage_c2_regions mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region scratch slots 1
    // expected-error @below {{is a second region of kind 'scratch'}}
    plan.region scratch slots 1
  }
}

// -----

// C2: names tell segments apart.
plan.program @stage_c2_segments mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.segment forward "f" {
    }
    // expected-error @below {{is a second segment named 'f'}}
    plan.segment backward "f" {
    }
  }
}

// -----

// C3: an arena has room for all.
plan.program @stage_c3_open mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 64 {
    // expected-error @below {{has no offset, but its stage has an arena}}
    plan.region scratch slots 1
  }
}

// -----

// C3: buffers too.
plan.program @stage_c3_open_buffer mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 64 {
    plan.region scratch slots 1 at 0 holds 64 live 16
    // expected-error @below {{'x' has no offset, but its stage has an arena}}
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
  }
}

// -----

// C3: regions lie side by side; two slots of activations reach 128.
plan.program @stage_c3_overlap mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 128 {
    plan.region activations slots 2 at 0 holds 64 live 16
    // expected-error @below {{at 64 overlaps the region before it, which ends at 128}}
    plan.region scratch slots 1 at 64 holds 64 live 16
  }
}

// -----

// C3: the arena ends with its last region.
plan.program @stage_c3_end mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  // expected-error @below {{has an arena of 128 bytes, but its regions end at 64}}
  plan.stage 0 arena 128 {
    plan.region scratch slots 1 at 0 holds 64 live 16
  }
}

// -----

// C1: only activations are kept for several micro-batches.
plan.program @region_c1_slots mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    // expected-error @below {{of kind 'scratch' has 2 slots, expected 1}}
    plan.region scratch slots 2
  }
}

// -----

// C1: at least one slot.
plan.program @region_c1_none mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    // expected-error @below {{of kind 'activations' has 0 slots, expected at least 1}}
    plan.region activations slots 0
  }
}

// -----

// C2: no more can be live than there is.
plan.program @region_c2_live mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    // expected-error @below {{at 0 holds 64 bytes, 65 of them live}}
    plan.region scratch slots 1 at 0 holds 64 live 65
  }
}

// -----

// C2: all three numbers.
plan.program @region_c2_some mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    // expected-error @below {{has some of offset, slot bytes and live bytes, expected all or none}}
    "plan.region"() <{kind = #plan<memory_kind scratch>, slots = 1 : i64, offset_bytes = 0 : i64}> : () -> ()
  }
}

// -----

// C3: cache lines.
plan.program @region_c3_grain mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    // expected-error @below {{at 32 holds 64 bytes, expected multiples of 64}}
    plan.region scratch slots 1 at 32 holds 64 live 16
  }
}

// -----

// C1: a region to lie in.
plan.program @buffer_c1_region mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    // expected-error @below {{'x' lies in a region of kind 'scratch', which the stage does not have}}
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf32>
  }
}

// -----

// C2: aligned.
plan.program @buffer_c2_alignment mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region scratch slots 1
    // expected-error @below {{'x' is at 6, expected a multiple of its element's 4 bytes}}
    %x = plan.buffer "x" in scratch at 6 : !plan.buffer<4xf32>
  }
}

// -----

// C2: within its region.
plan.program @buffer_c2_end mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    // expected-note @below {{region declared here}}
    plan.region scratch slots 1 at 0 holds 64 live 16
    // expected-error @below {{'x' ends at 68, but its region holds 64 bytes}}
    %x = plan.buffer "x" in scratch at 52 : !plan.buffer<4xf32>
  }
}

// -----

// Element types are those that kernels know.
plan.program @buffer_type mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region scratch slots 1
    // expected-error @below {{element type is 'f8E5M2', expected f64, f32, bf16, f16 or i32}}
    %x = plan.buffer "x" in scratch : !plan.buffer<4xf8E5M2>
  }
}

// -----

// C1: a layout that says of which tensor.
plan.program @variable_c1_global mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region parameters slots 1
    %w = plan.buffer "w" in parameters : !plan.buffer<4xf32>
    // expected-error @below {{'w' has a layout of 0 global dims, but its buffer has 1}}
    plan.variable parameter "w" of "w" in %w layout <[-]> init <value = 0.0 : f64> : !plan.buffer<4xf32>
  }
}

// -----

// C1: the buffer is the shard.
plan.program @variable_c1_shard mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region parameters slots 1
    %w = plan.buffer "w" in parameters : !plan.buffer<4xf32>
    // expected-error @below {{'w' has global dim 0 of 13 over 3 ranks, but its buffer holds 4}}
    plan.variable parameter "w" of "w" in %w layout <[tp], of = [13]> init <value = 0.0 : f64> : !plan.buffer<4xf32>
  }
}

// -----

// C2: each role has its region.
plan.program @variable_c2_region mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region scratch slots 1
    %w = plan.buffer "w" in scratch : !plan.buffer<4xf32>
    // expected-error @below {{'w' lies in region 'scratch', expected 'optimizer' for a moment1}}
    plan.variable moment1 "w" of "w" in %w layout <[tp], of = [12]> init <value = 0.0 : f64> : !plan.buffer<4xf32>
  }
}

// -----

// A random start has a stream.
plan.program @variable_init mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region parameters slots 1
    %w = plan.buffer "w" in parameters : !plan.buffer<4xf32>
    // expected-error @below {{'stddev' and 'key' come together}}
    plan.variable parameter "w" of "w" in %w layout <[tp], of = [12]> init <value = 0.0 : f64, stddev = 1.0 : f64> : !plan.buffer<4xf32>
  }
}

// -----

// C1: a channel.
plan.program @messages_c1_unknown mesh (pp = 2) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.channel @c from 0 to 1 depth 1 : !plan.buffer<4xf32>
  plan.stage 0 {
  }
  plan.stage 1 {
    plan.region communication slots 1
    plan.region scratch slots 1
    %a = plan.buffer "a" in communication : !plan.buffer<4xf32>
    // expected-error @below {{channel @d does not exist}}
    plan.messages @d in %a : !plan.buffer<4xf32>
  }
}

// -----

// C1: that leads here.
plan.program @messages_c1_stage mesh (pp = 2) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.channel @c from 0 to 1 depth 1 : !plan.buffer<4xf32>
  plan.stage 0 {
    plan.region communication slots 1
    plan.region scratch slots 1
    %a = plan.buffer "a" in communication : !plan.buffer<4xf32>
    // expected-error @below {{channel @c leads to stage 1, not here}}
    plan.messages @c in %a : !plan.buffer<4xf32>
  }
  plan.stage 1 {
  }
}

// -----

// C2: as many as may wait.
plan.program @messages_c2_depth mesh (pp = 2) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.channel @c from 0 to 1 depth 2 : !plan.buffer<4xf32>
  plan.stage 0 {
  }
  plan.stage 1 {
    plan.region communication slots 1
    plan.region scratch slots 1
    %a = plan.buffer "a" in communication : !plan.buffer<4xf32>
    // expected-error @below {{has 1 buffers for a channel of depth 2}}
    plan.messages @c in %a : !plan.buffer<4xf32>
  }
}

// -----

// C2: of the type it carries.
plan.program @messages_c2_type mesh (pp = 2) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.channel @c from 0 to 1 depth 1 : !plan.buffer<4xf32>
  plan.stage 0 {
  }
  plan.stage 1 {
    plan.region communication slots 1
    plan.region scratch slots 1
    %a = plan.buffer "a" in communication : !plan.buffer<5xf32>
    // expected-error @below {{has a buffer of type '!plan.buffer<5xf32>' for a channel of '!plan.buffer<4xf32>'}}
    plan.messages @c in %a : !plan.buffer<5xf32>
  }
}

// -----

// C2: in the memory for messages.
plan.program @messages_c2_region mesh (pp = 2) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.channel @c from 0 to 1 depth 1 : !plan.buffer<4xf32>
  plan.stage 0 {
  }
  plan.stage 1 {
    plan.region communication slots 1
    plan.region scratch slots 1
    %a = plan.buffer "a" in scratch : !plan.buffer<4xf32>
    // expected-error @below {{has buffer 'a', which does not lie in the communication region}}
    plan.messages @c in %a : !plan.buffer<4xf32>
  }
}

// -----

// C1: instructions only.
plan.program @segment_c1_other mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.segment begin "begin" {
      // expected-error @below {{is not an instruction of the plan}}
      dist.mesh @mesh (tp = 2)
    }
  }
}

// -----

// C1: a segment that is there.
plan.program @schedule_c1_unknown mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 1
    plan.segment begin "begin" {
    }
    plan.segment forward "forward" {
    }
    // expected-error @below {{runs segment "update", which the stage does not have}}
    plan.schedule ["update"]
  }
}

// -----

// C2: the begin knows no micro-batch.
plan.program @schedule_c2_once mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 1
    plan.segment begin "begin" {
    }
    plan.segment forward "forward" {
    }
    // expected-error @below {{runs segment "begin" for a micro-batch, but it runs once a step}}
    plan.schedule ["begin" 0 in 0]
  }
}

// -----

// C2: the forward does.
plan.program @schedule_c2_none mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 1
    plan.segment begin "begin" {
    }
    plan.segment forward "forward" {
    }
    // expected-error @below {{runs segment "forward" for micro-batch -1, but the step has 2}}
    plan.schedule ["forward"]
  }
}

// -----

// C2: one of this step.
plan.program @schedule_c2_range mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 1
    plan.segment begin "begin" {
    }
    plan.segment forward "forward" {
    }
    // expected-error @below {{runs segment "forward" for micro-batch 2, but the step has 2}}
    plan.schedule [steady "forward" 2 in 0]
  }
}

// -----

// C2: in a slot that is there.
plan.program @schedule_c2_slot mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 1
    plan.segment begin "begin" {
    }
    plan.segment forward "forward" {
    }
    // expected-error @below {{runs segment "forward" in slot 1, but the stage has 1}}
    plan.schedule [steady "forward" 0 in 1]
  }
}

// -----

// C2: in a slot of its chunk.
plan.program @schedule_c2_slot_of_chunk mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 2
    plan.region activations chunk 1 slots 1
    plan.segment forward "forward" {
    }
    plan.segment forward "forward.1" chunk 1 {
    }
    // expected-error @below {{runs segment "forward.1" in slot 1, but chunk 1 has 1}}
    plan.schedule [steady "forward" 0 in 1, steady "forward.1" 0 in 1]
  }
}

// -----

// C2: in a phase.
plan.program @schedule_c2_phase mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.segment forward "forward" {
    }
    // expected-error @below {{runs segment "forward" in no phase, expected warm_up, steady or cool_down}}
    plan.schedule ["forward" 0 in 0]
  }
}

// -----

// C2: the update is in none.
plan.program @schedule_c2_phase_of_update mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.segment update "update" {
    }
    // expected-error @below {{runs segment "update" in phase cool_down, but it runs once a step}}
    plan.schedule [cool_down "update"]
  }
}

// -----

// There are three.
plan.program @schedule_phases mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.segment forward "forward" {
    }
    // expected-error @below {{'hot' is not warm_up, steady or cool_down}}
    plan.schedule [hot "forward" 0 in 0]
  }
}

// -----

// C3: phases follow each other.
plan.program @schedule_c3 mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.segment forward "forward" {
    }
    // expected-error @below {{runs segment "forward" for micro-batch 1 in phase warm_up after phase steady}}
    plan.schedule [steady "forward" 0 in 0, warm_up "forward" 1 in 0]
  }
}

// -----

// C4: what is received is said where it is run.
plan.program @schedule_c4_receives mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.channel @c from 0 to 0 depth 1 : !plan.buffer<2xf32>
  plan.stage 0 {
    plan.region communication slots 1
    plan.region scratch slots 1
    %m = plan.buffer "m" in communication : !plan.buffer<2xf32>
    %x = plan.buffer "x" in scratch : !plan.buffer<2xf32>
    plan.messages @c in %m : !plan.buffer<2xf32>
    plan.segment forward "forward" {
      plan.send %x on @c : !plan.buffer<2xf32>
    }
    plan.segment forward "forward.1" chunk 1 {
      plan.recv @c into %x : !plan.buffer<2xf32>
    }
    // expected-error @below {{runs segment "forward.1" with receives [], but its instructions are [@c]}}
    plan.schedule [steady "forward" 0 in 0 sends [@c], steady "forward.1" 0 in 0]
  }
}

// -----

// C4: and what is sent.
plan.program @schedule_c4_sends mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.channel @c from 0 to 0 depth 1 : !plan.buffer<2xf32>
  plan.stage 0 {
    plan.region communication slots 1
    plan.region scratch slots 1
    %m = plan.buffer "m" in communication : !plan.buffer<2xf32>
    %x = plan.buffer "x" in scratch : !plan.buffer<2xf32>
    plan.messages @c in %m : !plan.buffer<2xf32>
    plan.segment forward "forward" {
      plan.send %x on @c : !plan.buffer<2xf32>
    }
    plan.segment forward "forward.1" chunk 1 {
      plan.recv @c into %x : !plan.buffer<2xf32>
    }
    // expected-error @below {{runs segment "forward" with sends [@c, @c], but its instructions are [@c]}}
    plan.schedule [steady "forward" 0 in 0 sends [@c, @c], steady "forward.1" 0 in 0 receives [@c]]
  }
}

// -----

// C3: a chunk uses its own activations.
plan.program @segment_c3_other_chunk mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 1
    plan.region activations chunk 1 slots 1
    %a = plan.buffer "a" in activations chunk 1 : !plan.buffer<2xf32>
    plan.segment forward "forward" {
      // expected-error @below {{of chunk 0 uses 'a', which lies in the activations of chunk 1}}
      plan.input "a" into %a : !plan.buffer<2xf32>
    }
  }
}

// -----

// C3: one update a stage.
plan.program @segment_c3_update mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    // expected-error @below {{'update' of kind 'update' has chunk 1, expected none}}
    plan.segment update "update" chunk 1 {
    }
  }
}

// -----

// Region C1: a chunk has activations of its own, but scratch is for all.
plan.program @region_c1_chunk mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    // expected-error @below {{of kind 'scratch' has chunk 1, expected none}}
    plan.region scratch chunk 1 slots 1
  }
}

// -----

// C2: once a chunk.
plan.program @stage_c2_regions_of_chunk mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 1
    plan.region activations chunk 1 slots 1
    // expected-error @below {{is a second region of kind 'activations' of chunk 1}}
    plan.region activations chunk 1 slots 2
  }
}

// -----

// Buffer C1: the region of its chunk.
plan.program @buffer_c1_chunk mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 1
    // expected-error @below {{'a' lies in a region of kind 'activations' of chunk 1, which the stage does not have}}
    %a = plan.buffer "a" in activations chunk 1 : !plan.buffer<2xf32>
  }
}

// -----

// C1: what runs once a step has no copies.
plan.program @region_c1_step mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    // expected-error @below {{of kind 'step' has 2 slots, expected 1}}
    plan.region step slots 2
  }
}

// -----

// C3: all chunks have the same pages.
plan.program @stage_c3_pages mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 256 {
    // expected-note @below {{2 of 64 at 0 here}}
    plan.region pages slots 2 at 0 holds 64 live 64
    // expected-error @below {{has 2 pages of 64 bytes at 128, expected those of the other chunks}}
    plan.region pages chunk 1 slots 2 at 128 holds 64 live 64
  }
}

// -----

// C3: step lies over nothing that is held from one step to the next.
plan.program @stage_c3_step mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 128 {
    plan.region parameters slots 1 at 0 holds 64 live 64
    plan.region scratch slots 1 at 64 holds 64 live 64
    // expected-error @below {{at 0 lies over the region of kind 'parameters' at 0}}
    plan.region step slots 1 at 0 holds 128 live 128
  }
}

// -----

// C4: a micro-batch does not use what segments that run once a step have.
plan.program @segment_c4_forward mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region step slots 1
    %a = plan.buffer "a" in step : !plan.buffer<2xf32>
    plan.segment forward "forward" {
      // expected-error @below {{of a segment of kind 'forward' uses 'a', which lies in the region of kind 'step'}}
      plan.input "a" into %a : !plan.buffer<2xf32>
    }
  }
}

// -----

// C4: nor do these use what lies under it.
plan.program @segment_c4_update mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region scratch slots 1
    plan.region step slots 1
    %a = plan.buffer "a" in scratch : !plan.buffer<2xf32>
    plan.segment update "update" {
      // expected-error @below {{of a segment of kind 'update' uses 'a', which lies in the region of kind 'scratch'}}
      plan.input "a" into %a : !plan.buffer<2xf32>
    }
  }
}

// -----

// C2: of a schedule, a page that there is.
plan.program @schedule_c2_page mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 1
    plan.region pages slots 1
    plan.segment forward "forward" {
    }
    // expected-error @below {{runs segment "forward" with page 2, but the stage has 1}}
    plan.schedule [steady "forward" 0 in 0 page 2]
  }
}

// -----

// C2: of a schedule, an update has no page.
plan.program @schedule_c2_update mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.segment update "update" {
    }
    // expected-error @below {{runs segment "update" with page 1, but it runs once a step}}
    plan.schedule ["update" page 1]
  }
}

// -----

// C3: leaves are no pages, and no chunk has others.
plan.program @stage_c3_leaves mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 256 {
    plan.region pages slots 2 at 0 holds 64 live 64
    // expected-note @below {{1 of 64 at 128 here}}
    plan.region leaves slots 1 at 128 holds 64 live 64
    // expected-error @below {{has 1 pages of 64 bytes at 192, expected those of the other chunks}}
    plan.region leaves chunk 1 slots 1 at 192 holds 64 live 64
  }
}

// -----

// C4: an update has none of the leaves of a micro-batch.
plan.program @segment_c4_leaf mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region leaves slots 1
    %a = plan.buffer "a" in leaves : !plan.buffer<2xf32>
    plan.segment update "update" {
      // expected-error @below {{of a segment of kind 'update' uses 'a', which lies in the region of kind 'leaves'}}
      plan.input "a" into %a : !plan.buffer<2xf32>
    }
  }
}

// -----

// C2: of a schedule, a leaf that there is: a page is none.
plan.program @schedule_c2_leaf mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.region activations slots 1
    plan.region pages slots 1
    plan.segment forward "forward" {
    }
    // expected-error @below {{runs segment "forward" with leaf 1, but the stage has 0}}
    plan.schedule [steady "forward" 0 in 0 page 1 leaf 1]
  }
}

// -----

// C2: of a schedule, an update has no leaf.
plan.program @schedule_c2_update_leaf mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 {
    plan.segment update "update" {
    }
    // expected-error @below {{runs segment "update" with leaf 1, but it runs once a step}}
    plan.schedule ["update" leaf 1]
  }
}

// -----

// C3: regions with places begin at one byte.
plan.program @stage_c3_places mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 192 {
    plan.region pages slots 1 at 0 holds 64 live 64 places [0]
    // expected-error @below {{with places begins at 64, another one at 0}}
    plan.region leaves slots 1 at 64 holds 64 live 64 places [64]
  }
}

// -----

// C3: no other region lies within the lot.
plan.program @stage_c3_lot mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 128 {
    plan.region pages slots 2 at 0 holds 64 live 64 places [0, 64]
    // expected-error @below {{at 64 overlaps the region before it, which ends at 128}}
    plan.region scratch slots 1 at 64 holds 64 live 64
  }
}

// -----

// C4: of a region, a place for each slot.
plan.program @region_c4_count mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 128 {
    // expected-error @below {{of kind 'pages' has 1 places for 2 slots}}
    plan.region pages slots 2 at 0 holds 64 live 64 places [0]
  }
}

// -----

// C4: of a region, at multiples of 64.
plan.program @region_c4_grain mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 128 {
    // expected-error @below {{has a slot at place 32, expected a multiple of 64}}
    plan.region pages slots 2 at 0 holds 64 live 64 places [0, 32]
  }
}

// -----

// C4: of a region, only where it belongs to a micro-batch.
plan.program @region_c4_kind mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 64 {
    // expected-error @below {{of kind 'scratch' has 1 places for 1 slots}}
    plan.region scratch slots 1 at 0 holds 64 live 64 places [0]
  }
}

// -----

// C4: of a region, some.
plan.program @region_c4_none mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 64 {
    // expected-error @below {{of kind 'pages' has 0 places for 1 slots}}
    plan.region pages slots 1 at 0 holds 64 live 64 places []
  }
}

// -----

// C4: of a region, where there are bytes.
plan.program @region_c4_end mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 64 {
    // expected-error @below {{has a slot at place 9223372036854775744, which ends beyond every address}}
    plan.region pages slots 1 at 0 holds 64 live 64 places [9223372036854775744]
  }
}

// -----

// C3: an empty region of the lot makes no room in it.
plan.program @stage_c3_empty mesh (dp = 2, pp = 1, tp = 3) training <sequence_length = 8, samples = 2, micro_batches = 2, vocabulary = 16, parameters = 64, flops_per_micro_batch = 0, compute = f32> seed 0 options "" {
  plan.stage 0 arena 64 {
    plan.region pages slots 1 at 0 holds 0 live 0 places [0]
    plan.region scratch slots 1 at 0 holds 64 live 64
    // expected-error @below {{at 0 overlaps the region before it, which ends at 64}}
    plan.region leaves slots 1 at 0 holds 64 live 64 places [0]
  }
}
