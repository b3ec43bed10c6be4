// RUN: split-file %s %t
// RUN: tgpt-opt %t/no-metric.mlir --tgpt-add-optimizer -verify-diagnostics
// RUN: tgpt-opt %t/no-gradient.mlir --tgpt-add-optimizer -verify-diagnostics
// RUN: tgpt-opt %t/norm.mlir --tgpt-add-optimizer=max-grad-norm=-1 -verify-diagnostics
// RUN: tgpt-opt %t/beta1.mlir --tgpt-add-optimizer=beta1=1.0 -verify-diagnostics
// RUN: tgpt-opt %t/beta2.mlir --tgpt-add-optimizer=beta2=-0.5 -verify-diagnostics
// RUN: tgpt-opt %t/epsilon.mlir --tgpt-add-optimizer=epsilon=0.0 -verify-diagnostics
// RUN: tgpt-opt %t/nan.mlir --tgpt-add-optimizer=epsilon=nan -verify-diagnostics
// RUN: tgpt-opt %t/decay.mlir --tgpt-add-optimizer=weight-decay=-0.125 -verify-diagnostics

//--- no-metric.mlir
// expected-error @below {{no state '@loss_sum', run tgpt-differentiate first}}
module {
  tgpt.parameter @w : tensor<3x5xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @w.gradient of @w : tensor<3x5xf32> {transient}
}

//--- no-gradient.mlir
// expected-error @below {{no gradient states, run tgpt-differentiate first}}
module {
  tgpt.state metric @loss_sum : tensor<f32> {transient}
  tgpt.state metric @token_count : tensor<f32> {transient}
}

//--- norm.mlir
// expected-error @below {{max-grad-norm is -1, expected at least 0 (0 does not clip)}}
module {}

//--- beta1.mlir
// expected-error @below {{beta1 is 1, expected a value in [0, 1)}}
module {}

//--- beta2.mlir
// expected-error @below {{beta2 is -0.5, expected a value in [0, 1)}}
module {}

//--- epsilon.mlir
// expected-error @below {{epsilon is 0, expected a value above 0}}
module {}

//--- nan.mlir
// expected-error @below {{epsilon is nan, expected a value above 0}}
module {}

//--- decay.mlir
// expected-error @below {{weight-decay is -0.125, expected at least 0}}
module {}
