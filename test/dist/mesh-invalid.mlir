// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{axis "tp" appears twice}}
dist.mesh @mesh_c1_axis_twice (tp = 2, dp = 3, tp = 2)

// -----

// expected-error @+1 {{axis name "" is not a word of letters, digits and '_'}}
"dist.mesh"() <{sym_name = "mesh_c1_empty_name", axes = [""], sizes = array<i64: 2>}> : () -> ()

// -----

// expected-error @+1 {{axis name "a-b" is not a word of letters, digits and '_'}}
"dist.mesh"() <{sym_name = "mesh_c1_name_is_a_word", axes = ["a-b"], sizes = array<i64: 2>}> : () -> ()

// -----

// expected-error @+1 {{axis "dp" has size 0 but 1 is the least}}
dist.mesh @mesh_c2_size (dp = 0, tp = 2)

// -----

// expected-error @+1 {{names 2 axes but has 1 sizes}}
"dist.mesh"() <{sym_name = "mesh_c2_size_each", axes = ["dp", "tp"], sizes = array<i64: 2>}> : () -> ()

// -----

// expected-note @+1 {{first mesh declared here}}
dist.mesh @mesh (tp = 2)
// expected-error @+1 {{is the second mesh of the module}}
dist.mesh @mesh_c3_second (tp = 2)

// -----

// expected-error @+1 {{has more than 1073741824 ranks}}
dist.mesh @mesh_c4_ranks (dp = 4294967296, pp = 4294967296, tp = 4)
