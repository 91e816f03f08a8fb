#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# The random tests (models, schedules) of a build, longer than a test run has time for.
#
#   tools/campaigns.sh BUILD SCALE    SCALE: how many times as many steps and schedules
#
# Programs are run by themselves, not by ctest, whose time limits are those of an ordinary run. Each has fresh seeds; one
# that fails prints its seed. All are run, also after a failure.
set -eu

build=$1
WEIR_TEST_SCALE=$2
WEIR_TEST_TIMEOUT_MULT=$2
export WEIR_TEST_SCALE WEIR_TEST_TIMEOUT_MULT

set -- "$build"/tests/test.models.* "$build"/tests/test.schedules.*
for program in "$@"; do
    [ -x "$program" ] || { echo "campaigns: not built: $program" >&2 && exit 1; }
done
echo "$# programs, $WEIR_TEST_SCALE times as long as in a test run"
if ! printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 sh -c '
    status=0
    output=$("$0" 2>&1) || status=$?
    printf "\n%s\n%s\n" "$0" "$output"
    exit "$status"'; then
    echo "campaigns: failed" >&2
    exit 1
fi
