#!/usr/bin/env bash
# Checks the CUDA backend on the GPUs of this machine: builds for them alone, judges every kernel, trains the demo model
# and compares its losses with the CPU's, looks for wrong accesses, and measures GPT-2 124M. Under 5 minutes after the
# build; a table is its last output, and the exit code says whether all of it went well. Needs no network.
#
#   scripts/gpu-check.sh                     on a machine with GPUs
#   scripts/gpu-check.sh --make-plans=DIR    on any machine with LLVM: the compiled plans, for a GPU machine without it
#   scripts/gpu-check.sh --plans=DIR         on that machine: builds no compiler
#   scripts/gpu-check.sh --emulated          on any machine: the same steps on the emulated device at tiny sizes; seconds
#
#   --build=DIR       where to build (default build-gpu); with --emulated, a build that is there (default build)
#   --built           builds nothing: what the build's folder has is taken
#   --step-seconds=N  ends a step that takes longer (default 100; the build has half an hour)
#   --work=DIR        where plans, logs and the table go (default DIR of the build + /gpu-check)
set -euo pipefail
cd "$(dirname "$0")/.."

emulated=false is_built=false build= plans= make_plans= work= step_seconds=
for argument in "$@"; do
  case "$argument" in
    --emulated) emulated=true is_built=true ;;
    --built) is_built=true ;;
    --build=?*) build=${argument#*=} ;;
    --step-seconds=[1-9]*) step_seconds=${argument#*=} ;;
    --work=?*) work=${argument#*=} ;;
    --plans=?*) plans=${argument#*=} ;;
    --make-plans=?*) make_plans=${argument#*=} ;;
    *) echo "gpu-check.sh: error: unknown argument '$argument', expected --emulated, --built, --step-seconds=N, --build=DIR, --work=DIR, --plans=DIR or --make-plans=DIR" >&2; exit 1 ;;
  esac
done
if $emulated || [ -n "$make_plans" ]; then build=${build:-build}; else build=${build:-build-gpu}; fi
work=${work:-$build/gpu-check}
$emulated && step_seconds=${step_seconds:-900} || step_seconds=${step_seconds:-100}
bin=$build/bin
for folder in "${CUDA_HOME:-/usr/local/cuda}"/{bin,compute-sanitizer,extras/compute-sanitizer}; do
  [ ! -d "$folder" ] || PATH=$PATH:$folder
done
analyse() { python3 scripts/gpu-check.py "$@"; }

## What must be here ---------------------------------------------------------------------------------------------------

missing=0
lacks() { echo "gpu-check.sh: missing: $1" >&2; missing=1; }
need() { command -v "$1" >/dev/null || lacks "$1: $2"; }

check_machine() {
  need python3 "the losses and rates are compared with it"
  $emulated && return
  if ! command -v nvidia-smi >/dev/null; then
    lacks "nvidia-smi: there is no NVIDIA driver here"
  elif [ -z "$(gpu_names)" ]; then
    lacks "a GPU: nvidia-smi lists none"
  else
    architecture >/dev/null || lacks "a GPU of compute capability 8, 9.0 or 10: this one has $(capability)"
  fi
  $is_built || check_tools
}

check_tools() {
  need nvcc "the CUDA toolkit 12.0 or newer, 12.8 for compute capability 10; have its bin on PATH, or say where it is in CUDA_HOME"
  need cmake "3.25 or newer"
  need ninja "the build"
  need protoc "protobuf's compiler"
  [ -n "$plans" ] || [ -d /usr/lib/llvm-22/lib/cmake/mlir ] ||
    lacks "LLVM and MLIR 22 (/usr/lib/llvm-22), for the compiler: make plans elsewhere with --make-plans=DIR, and give them with --plans=DIR"
  local header
  for header in google/protobuf/message.h CLI/CLI.hpp nlohmann/json.hpp oneapi/dnnl/dnnl.hpp yaml-cpp/yaml.h gtest/gtest.h; do
    echo "#include <$header>" | c++ -std=c++20 -fsyntax-only -x c++ - 2>/dev/null || lacks "<$header> (scripts/install-dependencies.sh has the names of the packages)"
  done
}

gpu_names() { nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null || true; }
gpus() {
  if $emulated; then echo 2
  elif [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then tr ',' '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c . || true
  else gpu_names | wc -l; fi
}
capability() { nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1; }
## What TGPT_CUDA_ARCHITECTURES calls it.
architecture() {
  case "$(capability)" in
    8.*) echo 80 ;;
    9.0) echo 90a ;;
    10.*) echo 100 ;;
    *) return 1 ;;
  esac
}
cluster_file() {
  case "$(architecture) $(gpu_names | head -n 1)" in
    80*) echo recipes/clusters/dgx-a100.yaml ;;
    90a*H200*) echo recipes/clusters/dgx-h200.yaml ;;
    90a*) echo recipes/clusters/dgx-h100.yaml ;;
    *) echo recipes/clusters/dgx-b200.yaml ;;
  esac
}

## The table and its rows ----------------------------------------------------------------------------------------------

failed=0
rows=()
## step NAME COMMAND...: runs it, for $step_seconds at most; its last line is the row's result.
step() {
  local name=$1 begin log result verdict running alarm
  shift
  log=$work/$(tr ' ,' '-_' <<<"$name").log
  echo "== $name"
  begin=$(date +%s.%N)
  set +e # a condition would switch it off inside as well
  set -m # each in a process group of its own, so that all of it can be ended
  ( set -e; "$@" ) >"$log" 2>&1 </dev/null &
  running=$!
  ( sleep "$step_seconds"; echo "stopped after $step_seconds s" >>"$log"; kill -TERM -- -$running; sleep 5; kill -KILL -- -$running ) >/dev/null 2>&1 &
  alarm=$!
  wait $running 2>/dev/null
  if [ $? -eq 0 ]; then verdict=ok; else verdict=FAILED; failed=1; tail -n 15 "$log" >&2; fi
  kill -- -$alarm
  wait $alarm 2>/dev/null
  set +m
  set -e
  result=$(tail -n 1 "$log")
  [ $verdict = ok ] || result=$(grep -E '^stopped after|error: |FAILED' "$log" | tail -n 1 || echo "$result")
  result=$(tr '|' '/' <<<"$result" | cut -c 1-200)
  rows+=("| $name | $verdict | $result | $(python3 -c "import time; print(f'{time.time() - $begin:.1f} s')") |")
}

print_table() {
  local device
  device=$($emulated && echo "emulated device: tiny sizes, its times say nothing of a GPU" || echo "$(gpus) x $(gpu_names | head -n 1)")
  {
    echo "| step ($device) | | result | took |"
    echo "|---|---|---|---|"
    printf '%s\n' "${rows[@]}"
  } | tee "$work/table.md"
}

## By a signal: what there is of the table is printed.
stop() {
  [ -z "${running:-}" ] || kill -- "-$running" "-$alarm" 2>/dev/null || true
  rows+=("| ${name:-what follows}, and all behind it | FAILED | stopped from outside | |")
  print_table
  exit 1
}

## The steps -----------------------------------------------------------------------------------------------------------

build_for_this_gpu() {
  local compiler=ON targets=(tgpt-run tgpt-kernel-bench tgpt_cuda_device_test tgpt-cuda)
  [ -z "$plans" ] || compiler=OFF
  [ -n "$plans" ] || targets+=(tgpt-import tgpt-opt)
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTGPT_UNITY=ON -DTGPT_CUDA=ON \
        -DTGPT_CUDA_ARCHITECTURES="$(architecture)" -DTGPT_COMPILER=$compiler
  cmake --build "$build" --target "${targets[@]}"
  echo "sm_$(architecture), in $build"
}

## compile NAME RECIPE OPTIONS...: a plan in $work/plans.
compile() {
  local name=$1 recipe=$2
  shift 2
  "$bin/tgpt-import" "$recipe" -o "$work/plans/$name.mlir"
  "$bin/tgpt-opt" "$@" --memory-report=none "$work/plans/$name.mlir" -o "$work/plans/$name.bin"
}

make_plans() {
  rm -rf "$work/plans"
  mkdir -p "$work/plans"
  local demo=recipes/models/nano-gpt2.yaml samples=4 large=recipes/models/gpt2-124m.yaml batch=16 multiple=128
  local workspace=33554432 # what cuBLASLt is given from Hopper on (docs/cuda.md)
  if $emulated; then
    sed -E 's/^(width|ffn|vocabulary): .*/\1: 16/; s/^(layers): .*/\1: 1/; s/^(heads|kv_heads): .*/\1: 2/; s/^(sequence_length): .*/\1: 8/' \
        "$demo" >"$work/smallest.yaml"
    demo=$work/smallest.yaml large=$work/smallest.yaml samples=1 batch=1 multiple=1 workspace=65536
  fi
  local count
  for dtype in f64 f32 bf16; do
    compile "demo-$dtype" "$demo" --dtype=$dtype --micro-batches=2 --micro-batch-samples=$((2 * samples))
  done
  for count in 2 4 8; do # the same samples a step
    [ $((4 * samples)) -lt $count ] || compile "demo-$count" "$demo" --dp=$count --zero=2 --overlap --micro-batches=1 \
                                               --micro-batch-samples=$((4 * samples / count))
  done
  compile large "$large" --dtype=bf16 --micro-batches=1 --micro-batch-samples=$batch --vocabulary-multiple=$multiple \
          --product-workspace-bytes=$workspace
  echo "$(ls "$work/plans"/*.bin | wc -l) plans"
}

take_plans() {
  local needed
  rm -rf "$work/plans"
  mkdir -p "$work/plans"
  for needed in demo-f64 demo-f32 demo-bf16 large; do
    [ -f "$plans/$needed.bin" ] || { echo "no $needed.bin in $plans: make it with --make-plans"; return 1; }
  done
  cp "$plans"/*.bin "$work/plans"
  echo "$(ls "$work/plans"/*.bin | wc -l) plans from $plans"
}

judge_kernels() {
  if $emulated; then
    "$build/test/unit/tgpt_cuda_kernels_test" --gtest_filter='*Bound/add:*Bound/swiglu_grad:*Bound/rms_norm'
  else
    "$build/test/unit/tgpt_cuda_device_test"
  fi | tee "$work/kernels.out" | tail -n 40
  analyse tests "$work/kernels.out"
}

$emulated && steps=2 device=cuda-emulated || { steps=20 device=cuda; }
## train NAME PLAN OPTIONS...: losses in $work/NAME.jsonl.
train() {
  local name=$1 plan=$2
  shift 2
  [[ "$*" == *--backend=* || "$*" == *--gpus=* ]] || set -- --no-peak # of the CPU
  "$bin/tgpt-run" "$work/plans/$plan.bin" --synthetic=7 --lr=1e-3 --steps=$steps --metrics="$work/$name.jsonl" "$@"
}

compare_losses() {
  train cpu-f64 demo-f64
  for dtype in f32 bf16; do
    train cpu-$dtype demo-$dtype
    train gpu-$dtype demo-$dtype --backend=$device
    analyse losses "$work/gpu-$dtype.jsonl" "$work/cpu-$dtype.jsonl" "$work/cpu-f64.jsonl" $dtype | tee -a "$work/losses.out"
  done
  paste -sd ';' "$work/losses.out"
}

## The largest power of two that there are GPUs for.
ranks_here() {
  local count=2
  while [ $((2 * count)) -le "$(gpus)" ] && [ $count -lt 8 ]; do count=$((2 * count)); done
  echo $count
}

compare_ranks() {
  local count
  count=$(ranks_here)
  train "cpu-$count" "demo-$count"
  if $emulated; then
    train "gpu-$count" "demo-$count" --backend=$device --gpus="$count"
  else
    train "gpu-$count" "demo-$count" --gpus="$count"
  fi
  analyse losses "$work/gpu-$count.jsonl" "$work/cpu-$count.jsonl" "$work/cpu-f64.jsonl" "f32 on $count"
}

sanitize() {
  command -v compute-sanitizer >/dev/null || $emulated || { echo "error: there is no compute-sanitizer on PATH: it is part of the CUDA toolkit"; return 1; }
  if $emulated; then # the emulated device looks by itself
    steps=1 train sanitized demo-f32 --backend=$device
    echo "unordered or out-of-bounds accesses: none (found by the emulated device)"
  else
    compute-sanitizer --tool=memcheck --error-exitcode=9 "$bin/tgpt-run" "$work/plans/demo-f32.bin" --synthetic=7 \
            --steps=2 --backend=$device --watchdog-seconds=120
    compute-sanitizer --tool=racecheck --error-exitcode=9 "$bin/tgpt-run" "$work/plans/demo-f32.bin" --synthetic=7 \
            --steps=1 --backend=$device --watchdog-seconds=120
    echo "memcheck and racecheck found nothing"
  fi
}

## Emulated devices have no choice of products.
$emulated && fastest=(--attention=measured) || fastest=(--product-algorithms=measured)
measure_training() {
  local peak=1e12
  $emulated || peak=$(analyse peak "$(cluster_file)")
  "$bin/tgpt-run" "$work/plans/large.bin" --plan-info >"$work/large.txt"
  train large large --backend=$device "${fastest[@]}"
  analyse rate "$work/large.jsonl" "$work/large.txt" "$peak"
}

measure_kernels() {
  local model=gpt2-124m seconds=0.03
  $emulated && model=smallest seconds=0.0001
  "$bin/tgpt-kernel-bench" --backend=$device --model=$model --batch=16 --dtype=bf16 --seconds=$seconds | tee "$work/bench.txt"
  if $emulated; then
    analyse kernels "$work/bench.txt"
  else
    analyse kernels "$work/bench.txt" "$(cluster_file)"
  fi
}

## ---------------------------------------------------------------------------------------------------------------------

if [ -n "$make_plans" ]; then
  work=$make_plans
  make_plans
  mv "$work"/plans/*.bin "$work"
  rm -rf "$work/plans"
  exit 0
fi

check_machine
[ $missing -eq 0 ] || { echo "gpu-check.sh: error: nothing was done, see above" >&2; exit 1; }
mkdir -p "$work"
rm -f "$work"/*.jsonl "$work"/*.out "$work"/*.log
trap stop INT TERM
$is_built || step_seconds=1800 step "build" build_for_this_gpu
[ $failed -eq 0 ] || { print_table; exit 1; }
if [ -n "$plans" ]; then step "plans" take_plans; else step "plans" make_plans; fi
[ $failed -eq 0 ] || { print_table; exit 1; }
step "conformance of kernels" judge_kernels
step "losses against the CPU" compare_losses
if [ "$(gpus)" -gt 1 ]; then step "losses on $(ranks_here) GPUs" compare_ranks; fi
step "GPT-2 124M, bf16, 16 x 1024" measure_training
step "kernels of its step" measure_kernels
step_seconds=$((2 * step_seconds)) step "wrong accesses" sanitize
echo
[ ! -f "$work/bench.txt" ] || cat "$work/bench.txt"
print_table
exit $failed
