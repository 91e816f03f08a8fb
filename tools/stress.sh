#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# The thread stress of queue and pool in a build, for longer than a test run has time for.
#
#   tools/stress.sh BUILD SECONDS
#
# SECONDS: for all of its tests together, in equal parts, one after the other. Each has a fresh seed, which is printed when
# it fails. All are run, also after a failure. How many rounds each made is printed.
set -eu

build=$1
seconds=$2
programs='queue coalesced pool'

count=0
for program in $programs; do
    count=$((count + $("$build/tests/test.stress.$program" --list | wc -l)))
done
WEIR_STRESS_SECONDS=$(awk "BEGIN { print $seconds / $count }")
# A round that has begun may end after its time; the usual limit is a minute.
WEIR_TEST_TIMEOUT_MULT=$(awk "BEGIN { print 1 + $seconds / 60 }")
export WEIR_STRESS_SECONDS WEIR_TEST_TIMEOUT_MULT
echo "$count tests, $WEIR_STRESS_SECONDS s each"
status=0
for program in $programs; do
    "$build/tests/test.stress.$program" --verbose || status=1
done
exit $status
