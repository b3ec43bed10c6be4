#!/usr/bin/env bash
# Configures the folder of a preset. A new folder compiles files together, which
# takes a third of the time; one that is there keeps its setting. To work on the
# code, `cmake --preset dev -DTGPT_UNITY=OFF` compiles file by file.
#
#   scripts/configure.sh PRESET
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
folder=build
[ "$preset" = dev ] || folder="build-$preset"
unity=()
[ -f "$folder/CMakeCache.txt" ] || unity=(-DTGPT_UNITY=ON)
log=$(cmake --preset "$preset" "${unity[@]}" 2>&1) || { echo "$log" >&2; exit 1; }
