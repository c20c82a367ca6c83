#!/usr/bin/env bash
# fuzz.sh TIME: runs every fuzz target of the module for TIME.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-5s}
grep -rlE '^func Fuzz' --include='*_test.go' . | sort | while read -r file; do
  dir=$(dirname "$file")
  grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | awk '{print $2}' | while read -r target; do
    echo "fuzz $dir $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$dir" | tail -n 2
  done
done
