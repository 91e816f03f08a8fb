#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# The random tests (models, schedules) of a build, longer than a test run has time for.
#
#   tools/campaigns.sh BUILD SCALE [PATTERN]
#
# SCALE: how many times as many steps and schedules as in a test run. PATTERN: only the programs whose names match this
# grep -E expression. Programs are run by themselves, not by ctest, whose time limits are those of an ordinary run.
# Each has fresh seeds; one that fails prints its seed. All are run, also after a failure. What each covered is printed.
set -eu

build=$1
WEIR_TEST_SCALE=$2
WEIR_TEST_TIMEOUT_MULT=$2
export WEIR_TEST_SCALE WEIR_TEST_TIMEOUT_MULT
pattern=${3:-.}

# The explorer's own tests find no more in a longer run.
programs=$(printf '%s\n' "$build"/tests/test.models.* "$build"/tests/test.schedules.* |
    grep -vE '/test\.schedules\.(explorer|misuse|planted)$' | grep -E "$pattern" || true)
[ -n "$programs" ] || { echo "campaigns: no program matches $pattern" >&2 && exit 1; }
for program in $programs; do
    [ -x "$program" ] || { echo "campaigns: not built: $program" >&2 && exit 1; }
done
echo "$(printf '%s\n' "$programs" | wc -l) programs, $WEIR_TEST_SCALE times as long as in a test run"
if ! printf '%s\n' "$programs" | xargs -P "$(nproc)" -n 1 sh -c '
    status=0
    output=$("$0" --verbose 2>&1) || status=$?
    printf "\n%s\n%s\n" "$0" "$output"
    exit "$status"'; then
    echo "campaigns: failed" >&2
    exit 1
fi
