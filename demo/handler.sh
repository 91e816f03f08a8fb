#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# Hashes one file. `weir work` gives its name as the job's body, on standard input; xargs as an operand.
#
# A job may run twice: a worker that is killed cannot say whether its job was done. So the result takes its
# place by a rename, under a name that depends on the job alone, and running again writes the same bytes.
set -eu

if [ $# -eq 1 ]; then
    file=$1
    result=$RESULTS/xargs.$$
else
    IFS= read -r file || [ -n "$file" ]
    result=$RESULTS/$WEIR_JOB_ID
    if [ -n "${RUNS:-}" ]; then
        # A delayed job tells when it started: the check compares that with the time it was to wait for.
        started=-
        if [ "${WEIR_RUN_AT%.*}${WEIR_RUN_AT#*.}" -gt "${WEIR_CREATED_AT%.*}${WEIR_CREATED_AT#*.}" ]; then
            started=$(date +%s.%N)
        fi
        echo "$WEIR_JOB_ID $WEIR_ATTEMPT $WEIR_RUN_AT $started" >> "$RUNS"
        # One file in ten fails on its first try: EX_TEMPFAIL, try again.
        if [ "$WEIR_ATTEMPT" -eq 1 ] && [ $((WEIR_JOB_ID % 10)) -eq 3 ]; then
            exit 75
        fi
    fi
fi
sha256sum -- "$file" > "$result.$$"
mv -- "$result.$$" "$result"
