#!/usr/bin/env bash
# Builds everything and runs all tests; ends in one line "N passed, N failed".
#
#   scripts/test.sh               the tests
#   scripts/test.sh --with-asan   the tests, then all of them again under AddressSanitizer
set -euo pipefail
cd "$(dirname "$0")/.."

presets=(dev)
for argument in "$@"; do
  case "$argument" in
    --with-asan) presets+=(asan) ;;
    *) echo "test.sh: error: unknown argument '$argument', expected --with-asan" >&2; exit 1 ;;
  esac
done

scripts/install-dependencies.sh
python3 scripts/check-layers.py

reports=()
for preset in "${presets[@]}"; do
  build=build
  [ "$preset" = dev ] || build="build-$preset"
  echo "== $preset: building in $build"
  scripts/configure.sh "$preset"
  cmake --build --preset "$preset" -- -k 0 | grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Running)' || true
  cmake --build --preset "$preset" >/dev/null || { echo "test.sh: error: the build failed, see above" >&2; exit 1; }
  echo "== $preset: testing"
  report="$PWD/$build/tests.xml"
  rm -f "$report"
  ctest --test-dir "$build" --output-on-failure --parallel 2 --output-junit "$report" \
        --test-output-size-passed 4096 --test-output-truncation head || true
  reports+=("$report")
done

python3 scripts/count-tests.py "${reports[@]}"
