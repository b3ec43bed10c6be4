// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

// Nothing reads a tensor before it is there: the types do not fit.
!addends = tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>
!sum = tensor<4xf32, #dist.layout<[-], of = [4]>>
dist.mesh @mesh (tp = 2)
func.func @read_too_early(%0: !addends) {
  // expected-note @+1 {{prior use here}}
  %1 = dist.all_reduce sum %0 over ["tp"] : !addends to !dist.pending<!sum>
  // expected-error @+1 {{use of value '%1' expects different type than prior uses}}
  %2 = tgpt.gelu %1 : (!sum) -> !sum
  return
}

// -----

!addends = tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>
!sum = tensor<4xf32, #dist.layout<[-], of = [4]>>
dist.mesh @mesh (tp = 2)
func.func @read_too_early_with_that_type(%0: !addends) {
  // expected-error @+1 {{is started, but 'tgpt.gelu' takes the pending value; only dist.wait does}}
  %1 = dist.all_reduce sum %0 over ["tp"] : !addends to !dist.pending<!sum>
  // expected-note @+1 {{used here}}
  %2 = "tgpt.gelu"(%1) : (!dist.pending<!sum>) -> !sum
  return
}

// -----

!addends = tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>
!sum = tensor<4xf32, #dist.layout<[-], of = [4]>>
dist.mesh @mesh (tp = 2)
func.func @wait_c1_never(%0: !addends) {
  // expected-error @+1 {{is started and waited for 0 times; a pending value has one use, a dist.wait}}
  %1 = dist.all_reduce sum %0 over ["tp"] : !addends to !dist.pending<!sum>
  return
}

// -----

!addends = tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>
!sum = tensor<4xf32, #dist.layout<[-], of = [4]>>
dist.mesh @mesh (tp = 2)
func.func @wait_c1_twice(%0: !addends) {
  // expected-error @+1 {{is started and waited for 2 times; a pending value has one use, a dist.wait}}
  %1 = dist.all_reduce sum %0 over ["tp"] : !addends to !dist.pending<!sum>
  %2 = dist.wait %1 : !dist.pending<!sum>
  %3 = dist.wait %1 : !dist.pending<!sum>
  return
}

// -----

!addends = tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>
!sum = tensor<4xf32, #dist.layout<[-], of = [4]>>
dist.mesh @mesh (tp = 2)
func.func @wait_c1_leaves_the_segment(%0: !addends) {
  %1 = dist.segment forward stage 0 {
    // expected-error @+1 {{is started, but 'dist.yield' takes the pending value; only dist.wait does}}
    %2 = dist.all_reduce sum %0 over ["tp"] : !addends to !dist.pending<!sum>
    // expected-note @+1 {{used here}}
    dist.yield %2 : !dist.pending<!sum>
  } : !dist.pending<!sum>
  return
}

// -----

!addends = tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>
!sum = tensor<4xf32, #dist.layout<[-], of = [4]>>
dist.mesh @mesh (tp = 2)
func.func @wait_c1_in_another_block(%0: !addends) {
  // expected-error @+1 {{is started in one block and waited for in another}}
  %1 = dist.all_reduce sum %0 over ["tp"] : !addends to !dist.pending<!sum>
  dist.segment forward stage 0 {
    // expected-note @+1 {{used here}}
    %2 = dist.wait %1 : !dist.pending<!sum>
  }
  return
}

// -----

!sum = tensor<4xf32, #dist.layout<[-], of = [4]>>
dist.mesh @mesh (tp = 2)
func.func @wait_c1_of_what(%0: !dist.pending<!sum>) {
  // expected-error @+1 {{operand does not come from a collective}}
  %1 = dist.wait %0 : !dist.pending<!sum>
  return
}

// -----

!addends = tensor<4xf32, #dist.layout<[-], partial = [pp], of = [4]>>
!sum = tensor<4xf32, #dist.layout<[-], of = [4]>>
dist.mesh @mesh (pp = 2)
func.func @wait_c2_over_stages(%0: !addends) {
  // expected-error @+1 {{runs over "pp" and cannot be started: stages differ in what they run beside it}}
  %1 = dist.all_reduce sum %0 over ["pp"] : !addends to !dist.pending<!sum>
  %2 = dist.wait %1 : !dist.pending<!sum>
  return
}

// -----

// What is pending is checked like what is there.
!addends = tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>
!sum = tensor<4xf32, #dist.layout<[-], of = [4]>>
dist.mesh @mesh (tp = 2)
func.func @still_partial(%0: !addends) {
  // expected-error @+1 {{result has layout #dist.layout<[-], partial = [tp], of = [4]> but #dist.layout<[-], of = [4]> follows}}
  %1 = dist.all_reduce sum %0 over ["tp"] : !addends to !dist.pending<!addends>
  %2 = dist.wait %1 : !dist.pending<!addends>
  return
}

// -----

// A slice exchanges nothing, so there is nothing to start.
dist.mesh @mesh (tp = 2)
func.func @slice(%0: tensor<4xf32, #dist.layout<[-], of = [4]>>) {
  // expected-error @+1 {{invalid kind of type specified: expected builtin.tensor, but found '!dist.pending<tensor<2xf32, #dist.layout<[tp], of = [4]>>>'}}
  %1 = dist.slice %0 dim 0 over ["tp"] : tensor<4xf32, #dist.layout<[-], of = [4]>> to !dist.pending<tensor<2xf32, #dist.layout<[tp], of = [4]>>>
  return
}
