#!/usr/bin/env bash
# From a fresh Debian 12 to a GPT in training: installs what is missing, builds,
# packs a text, compiles a model for 8 ranks (dp=2, pp=2, tp=2) and trains it.
#
#   scripts/quickstart.sh [steps]      (default 300 steps: some 20 seconds on 2 cores, after the build)
#
# Everything it makes is in build/; run it as often as you like.
set -euo pipefail
cd "$(dirname "$0")/.."
steps=${1:-300}
case "$steps" in
  '' | *[!0-9]* | 0) echo "quickstart.sh: error: steps is '$steps', expected a number from 1" >&2; exit 1 ;;
esac

echo "== 1/5 packages: compiler, MLIR 22 and libraries from Debian"
scripts/install-dependencies.sh

echo "== 2/5 build (some minutes the first time)"
scripts/configure.sh dev
cmake --build --preset dev --target tgpt-opt tgpt-import tgpt-data tgpt-run

bin=build/bin
work=build/quickstart
rm -rf "$work" # of an earlier run
mkdir -p "$work"

echo "== 3/5 data: the Free On-line Dictionary of Computing, a token a byte"
zcat -f /usr/share/dictd/foldoc.dict.dz | "$bin/tgpt-data" - -o "$work/corpus.bin"

echo "== 4/5 compile: one model for 8 ranks, two each of tensor, pipeline and data parallel"
"$bin/tgpt-import" recipes/models/nano.yaml -o "$work/model.mlir"
"$bin/tgpt-opt" --tp=2 --pp=2 --dp=2 --sp --micro-batches=4 --micro-batch-samples=4 "$work/model.mlir" -o "$work/compiled.bin"

echo "== 5/5 train: $steps steps (an untrained model guesses one of 256 bytes: loss ln 256 = 5.55)"
"$bin/tgpt-run" "$work/compiled.bin" --data="$work/corpus.bin" --steps="$steps" --lr=3e-3 --warmup-steps=20 \
    --log-every=25 --metrics="$work/metrics.jsonl" --save="$work/run"

loss_of() { printf '%.3f' "$(sed -E 's/.*"loss": *([0-9.]+).*/\1/')"; }
first=$(head -n 1 "$work/metrics.jsonl" | loss_of)
last=$(tail -n 1 "$work/metrics.jsonl" | loss_of)
cat <<END

Done: the loss went from $first to $last in $steps steps on 8 ranks, and every rank used the memory its plan said.

Try next
  the program of one rank, with the collectives that nobody wrote:
    $bin/tgpt-opt --tp=2 --sp --compile-to=partitioned $work/model.mlir | less
  go on from the checkpoint on another grid, here one rank:
    $bin/tgpt-opt --micro-batches=8 --micro-batch-samples=4 $work/model.mlir -o $work/one.bin
    $bin/tgpt-run $work/one.bin --data=$work/corpus.bin --resume=$work/run --steps=$((steps + 100)) --lr=3e-3 --warmup-steps=20
  the memory of a rank of LLaMA-3 405B on 1024 ranks:
    $bin/tgpt-import recipes/models/llama3-405b.yaml -o $work/405b.mlir
    $bin/tgpt-opt --tp=8 --pp=16 --dp=8 --sp --micro-batches=32 --dtype=bf16 $work/405b.mlir -o $work/405b.bin
  your own text: tgpt-data; your own model: recipes/README.md; how it works: README.md
END
