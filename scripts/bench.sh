#!/usr/bin/env bash
# Measures, never judges: training speed of pretrain-tiny on one rank, where its
# time goes, and how long the compiler takes on a very large model.
#
#   scripts/bench.sh [steps]      (default 8 steps a configuration)
set -euo pipefail
cd "$(dirname "$0")/.."
steps=${1:-8}

scripts/install-dependencies.sh
cmake --preset release >/dev/null
cmake --build --preset release --target tgpt-opt tgpt-import tgpt-run >/dev/null

bin=$PWD/build-release/bin
work=$PWD/build-release/bench
mkdir -p "$work"

echo "== compile: llama3-405b, tp=8 pp=16 dp=8"
"$bin/tgpt-import" recipes/models/llama3-405b.yaml -o "$work/llama3-405b.mlir"
python3 scripts/measure.py "$bin/tgpt-opt" --tp=8 --pp=16 --dp=8 --sp --micro-batches=32 --dtype=bf16 --memory-report=none \
    "$work/llama3-405b.mlir" -o "$work/llama3-405b.bin"

"$bin/tgpt-import" recipes/models/pretrain-tiny.yaml -o "$work/pretrain-tiny.mlir"
for dtype in f32 bf16; do
  "$bin/tgpt-opt" --dtype="$dtype" --micro-batch-samples=4 --memory-report=none "$work/pretrain-tiny.mlir" -o "$work/$dtype.bin"
  for threads in 1 2; do
    echo
    echo "== train: pretrain-tiny, 4 x 512 tokens a step, $dtype, $threads thread(s)"
    "$bin/tgpt-run" "$work/$dtype.bin" --synthetic=1 --steps="$steps" --threads="$threads" --log-every="$steps" --profile
  done
done
