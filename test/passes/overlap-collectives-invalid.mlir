// RUN: not tgpt-opt %s --dist-overlap-collectives="window=0" 2>&1 | FileCheck %s --check-prefix=WINDOW
// RUN: not tgpt-opt %s --dist-overlap-collectives="prefetch=0" 2>&1 | FileCheck %s --check-prefix=PREFETCH
// RUN: not tgpt-opt %s --dist-overlap-collectives 2>&1 | FileCheck %s --check-prefix=MESH

// WINDOW: error: option 'window' is 0, expected at least 1
// PREFETCH: error: option 'prefetch' is 0, expected at least 1
// MESH: error: has no dist.mesh
module {
}
