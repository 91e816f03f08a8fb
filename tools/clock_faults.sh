#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# The tests of a build on clocks that misbehave. Nothing of what the queue and the pool do may change.
#
#   tools/clock_faults.sh BUILD
#
# 1. The wall clock jumps by days, back and forth, every 10 ms (tests/support/planted/jumping_clock.c).
# 2. The monotonic clock began a hundred years ago, or a few seconds ago (a time namespace; where the system does not
#    let us make one, that is said and counted as skipped).
#
# test.stress.clock_faults also checks that the clocks do what is said here. Left out are tests of what follows the wall
# clock by contract (durable jobs, the program) and those that never look at a clock. What a store makes of a clock that
# is set back is tested on clocks of the test's own, which nothing here may change.
set -eu

build=$1
skipped=0
RESULTS=$(mktemp)
export RESULTS
trap 'rm -f "$RESULTS"' EXIT

programs=
for program in "$build"/tests/test.stress.clock_faults "$build"/tests/test.jobs.sqlite.clock \
    "$build"/tests/test.base.* "$build"/tests/test.queue.* \
    "$build"/tests/test.cron.* "$build"/tests/test.pool.* "$build"/tests/test.metrics.* "$build"/tests/test.conformance.*; do
    [ -x "$program" ] || { echo "clock_faults: not built: $program" >&2 && exit 1; }
    case $program in
    */test.conformance.jobs.*) ;; # run times are times of the wall clock
    */test.conformance.bad_* | */test.conformance.promtool) ;; # tables of bad input; another program
    *) programs="$programs $program" ;;
    esac
done

# run_all WHAT COMMAND...: every program under a command, as many at once as there are processors.
run_all() {
    what=$1
    shift
    echo "== $what"
    # shellcheck disable=SC2086,SC2016 # a list of words; expanded by the inner shell
    printf '%s\n' $programs | xargs -P "$(nproc)" -n 1 "$@" sh -c '
        if output=$("$0" 2>&1); then echo passed >>"$RESULTS"
        else echo failed >>"$RESULTS"; printf "\n%s:\n%s\n" "$0" "$output"; fi'
}

run_all "a wall clock that jumps" env WEIR_TEST_CLOCKS=jumping LD_PRELOAD="$PWD/$build/tests/libweir_jumping_clock.so"

uptime=$(cut -d . -f 1 /proc/uptime)
for seconds in 3153600000 "-$((uptime - 5))"; do
    what="a monotonic clock that is off by $seconds s"
    if reason=$(unshare --time --fork --monotonic "$seconds" --boottime "$seconds" true 2>&1); then
        run_all "$what" unshare --time --fork --monotonic "$seconds" --boottime "$seconds" \
            env WEIR_TEST_CLOCKS="$seconds"
    else
        skipped=$((skipped + 1))
        echo "== SKIPPED: $what: $reason" >&2
    fi
done
passed=$(grep -c passed "$RESULTS" || true)
failed=$(grep -c failed "$RESULTS" || true)
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
