#!/usr/bin/env bash
# Measures, never judges: training speed of pretrain-tiny on one rank, where its
# time goes, how long compiler, simulator and planner take on a very large model, and
# how near simulated steps come to measured ones. Prints Markdown.
#
#   scripts/bench.sh [steps]      (default 8 steps a configuration)
set -euo pipefail
cd "$(dirname "$0")/.."
steps=${1:-8}

scripts/install-dependencies.sh
scripts/configure.sh release
cmake --build --preset release --target tgpt-opt tgpt-import tgpt-plan tgpt-run >/dev/null

work=$PWD/build-release/bench
mkdir -p "$work"
python3 scripts/bench-table.py "$PWD/build-release/bin" "$work" "$steps"
echo
python3 scripts/compare-simulation.py "$PWD/build-release/bin" "$work" --steps="$steps"
