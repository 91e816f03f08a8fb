#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# clang-tidy (.clang-tidy) over every C file that a build folder compiles, all processors at once.
#
#   tools/tidy.sh BUILD [PATTERN]    BUILD: a configured clang build; PATTERN: only paths that it matches
#
# Headers are checked through the sources that include them. Generated files are left out.
set -eu

build=$1
pattern=${2:-.}
root=$(cd "$(dirname "$0")/.." && pwd)

list=$(sed -n 's/^ *"file": "\(.*\)",*$/\1/p' "$build/compile_commands.json" |
    grep -E '\.c$' | grep -vF "$(cd "$build" && pwd)/" | grep -E "$pattern" | sort -u)
count=$(printf '%s\n' "$list" | wc -l)

# What clang-tidy says beside its findings ("12 warnings generated") is of no use, and goes to a file that is shown
# only when it failed for another reason.
noise=$(mktemp)
trap 'rm -f "$noise"' EXIT
if ! printf '%s\n' "$list" | xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p "$build" 2>"$noise"; then
    grep -E '^(error|Error)' "$noise" >&2 || true
    echo "tidy: there are findings" >&2
    exit 1
fi
echo "tidy: $count files of ${root##*/} without a finding"
