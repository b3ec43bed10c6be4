// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{layout has 1 dims but the tensor has 2}}
func.func private @layout_c1_one_entry_per_dim(tensor<4x6xf32, #dist.layout<[tp]>>)

// -----

// expected-error @+1 {{axis "tp" appears twice in the layout}}
func.func private @layout_c2_axis_in_two_dims(tensor<4x6xf32, #dist.layout<[tp, tp]>>)

// -----

// expected-error @+1 {{axis "tp" appears twice in the layout}}
func.func private @layout_c2_axis_in_dim_and_partial(tensor<4x6xf32, #dist.layout<[tp, -], partial = [tp]>>)

// -----

// expected-error @+1 {{'of' has 1 dims but the layout has 2}}
func.func private @layout_c3_claim_has_the_dims_of_the_tensor(tensor<4x6xf32, #dist.layout<[tp, -], of = [8]>>)

// -----

// expected-error @+1 {{dim 1 holds 6 elements and has no axes, but 'of' says 12}}
func.func private @layout_c3_dim_without_axes_is_whole(tensor<4x6xf32, #dist.layout<[tp, -], of = [8, 12]>>)

// -----

// expected-error @+1 {{dim 0 holds 4 elements which do not divide the 10}}
func.func private @layout_c3_shards_are_equal(tensor<4x6xf32, #dist.layout<[tp, -], of = [10, 6]>>)

// -----

// expected-error @+1 {{partial needs at least one axis}}
func.func private @layout_partial_over_nothing(tensor<4xf32, #dist.layout<[-], partial = []>>)

// -----

// expected-error @+1 {{expected '>' after 'of'}}
func.func private @layout_partial_after_claim(tensor<4xf32, #dist.layout<[-], of = [4], partial = [tp]>>)
