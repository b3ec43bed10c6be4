// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{a window is of a tensor with a name}}
module attributes {test.w = #dist.window<"", shape = [4], at = [0]>} {}

// -----

// expected-error @below {{'shape' has 2 dims and 'at' 1, expected equally many and at least one}}
module attributes {test.w = #dist.window<"t", shape = [4, 5], at = [0]>} {}

// -----

// expected-error @below {{dim 1 is 5 and begins at 5, expected a place inside of it}}
module attributes {test.w = #dist.window<"t", shape = [4, 5], at = [0, 5]>} {}

// -----

// expected-error @below {{dim 0 is 4 and begins at -1, expected a place inside of it}}
module attributes {test.w = #dist.window<"t", shape = [4, 5], at = [-1, 0]>} {}
