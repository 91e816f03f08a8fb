#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# clang-tidy (.clang-tidy) over every C file that a build folder compiles, all processors at once.
#
#   tools/tidy.sh BUILD [PATTERN]    BUILD: a configured clang build; PATTERN: only paths that it matches
#
# Headers are checked through the sources that include them. Generated files are left out. Unit tests beside their
# sources are held to what tests/.clang-tidy says, as those in tests/ are.
set -eu

build=$1
pattern=${2:-.}
tools=$(cd "$(dirname "$0")" && pwd)
test_checks=$(sed -n "s/^Checks: '\(.*\)'/\1/p" "$tools/../tests/.clang-tidy")
[ -n "$test_checks" ] || { echo "tidy: no Checks in tests/.clang-tidy" >&2 && exit 1; }

list=$(sed -n 's/^ *"file": "\(.*\)",*$/\1/p' "$build/compile_commands.json" |
    grep -E '\.c$' | grep -vF "$(cd "$build" && pwd)/" | grep -E "$pattern" | sort -u)

# What clang-tidy says beside its findings ("12 warnings generated") is of no use, and goes to a file that is shown
# only when it failed for another reason.
noise=$(mktemp)
trap 'rm -f "$noise"' EXIT
run() {
    xargs -r -P "$(nproc)" -n 1 clang-tidy --quiet -p "$build" "$@" 2>>"$noise"
}
failed=no
printf '%s\n' "$list" | grep -v '_test\.c$' | run || failed=yes
printf '%s\n' "$list" | grep '_test\.c$' | run --checks="$test_checks" || failed=yes
if [ "$failed" = yes ]; then
    grep -E '^(error|Error)' "$noise" >&2 || true
    echo "tidy: there are findings" >&2
    exit 1
fi
echo "tidy: $(printf '%s\n' "$list" | wc -l) files without a finding"
