#!/usr/bin/env bash
# The cost model against published measurements: mean and worst error of step time and
# memory by table, rows that no fit saw apart (docs/time-model.md). Ends in exit code 1
# where an error exceeds its recorded bound (validation/bounds.csv).
#
#   scripts/validate.sh              the table of errors
#   scripts/validate.sh COMMAND      rows of a kind, what is left out and why, speed: see tgpt-validate --help
set -euo pipefail
cd "$(dirname "$0")/.."

program=build/bin/tgpt-validate
if [ ! -x "$program" ]; then
  scripts/configure.sh dev
  cmake --build --preset dev --target tgpt-validate
fi
exec "$program" "${1:-summary}" validation
