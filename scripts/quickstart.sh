#!/usr/bin/env bash
# From a fresh Debian 12 to a GPT in training: installs what is missing, builds,
# packs a text, compiles a model for 8 ranks (dp=2, pp=2, tp=2) and trains it.
#
#   scripts/quickstart.sh [steps]      (default 150 steps, a few minutes on 2 cores)
set -euo pipefail
cd "$(dirname "$0")/.."
steps=${1:-150}

echo "== 1/5 packages"
scripts/install-dependencies.sh

echo "== 2/5 build (the first takes some minutes)"
cmake --preset dev >/dev/null
cmake --build --preset dev --target tgpt-opt tgpt-import tgpt-data tgpt-run

bin=$PWD/build/bin
work=$PWD/build/quickstart
mkdir -p "$work"

echo "== 3/5 data: the Free On-line Dictionary of Computing, byte by byte"
zcat -f /usr/share/dictd/foldoc.dict.dz >"$work/corpus.txt"
"$bin/tgpt-data" "$work/corpus.txt" -o "$work/corpus.bin"

echo "== 4/5 compile: one model, 8 ranks"
"$bin/tgpt-import" recipes/models/nano.yaml -o "$work/model.mlir"
"$bin/tgpt-opt" --tp=2 --pp=2 --dp=2 --sp --micro-batches=4 --micro-batch-samples=4 "$work/model.mlir" -o "$work/compiled.bin"

echo "== 5/5 train"
"$bin/tgpt-run" "$work/compiled.bin" --data="$work/corpus.bin" --steps="$steps" --lr=3e-3 --warmup-steps=20 \
    --metrics="$work/metrics.jsonl"
