#!/usr/bin/env bash
# What ptxas makes of every device kernel: registers, bytes spilled, stack and shared memory.
# One line for each kernel and architecture; those that spill are marked and end in exit code 1.
#
#   scripts/ptxas-report.sh              all architectures the project builds for and the toolkit knows
#   scripts/ptxas-report.sh 90a          one of them
#   scripts/ptxas-report.sh --markdown   the table of docs/ptxas.md: the most of each kernel's variants
set -euo pipefail
cd "$(dirname "$0")/.."

format=text
architectures=()
for argument in "$@"; do
  case "$argument" in
    --markdown) format=markdown ;;
    80 | 90a | 100) architectures+=("$argument") ;;
    *) echo "ptxas-report.sh: error: unknown argument '$argument', expected --markdown, 80, 90a or 100" >&2; exit 1 ;;
  esac
done
nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
[ -x "$nvcc" ] || { echo "ptxas-report.sh: error: no nvcc on PATH, in CUDA_HOME or in /usr/local/cuda/bin" >&2; exit 1; }
if [ ${#architectures[@]} -eq 0 ]; then # those that the toolkit knows
  known=$("$nvcc" --list-gpu-arch)
  for architecture in 80 90a 100; do
    if grep -qx "compute_${architecture%a}" <<<"$known"; then architectures+=("$architecture"); fi
  done
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
code=()
for architecture in "${architectures[@]}"; do
  code+=(-gencode "arch=compute_$architecture,code=sm_$architecture")
done
for source in runtime/kernels/cuda/*.cu; do
  echo "tgpt: $(basename "$source")" >>"$work/log"
  "$nvcc" -std=c++20 -O3 --expt-relaxed-constexpr -I. "${code[@]}" -Xptxas -v -fatbin -o "$work/fatbin" "$source" \
          >>"$work/log" 2>&1 || { tail -20 "$work/log" >&2; exit 1; }
done
python3 scripts/ptxas-report.py "$format" "$work/log"
