#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# Runs the fuzzers of a build, one after the other.
#
#   tools/fuzz.sh BUILD SECONDS [TARGET...]     TARGET: beanstalkd, cron, http, zone; without any: all
#
# Each begins with what tests/fuzz/seeds.py makes of the tests and the system's zones, and with what was found to reach
# new code before, which it keeps in BUILD/corpus/TARGET. Input that fails is left in BUILD/failed-TARGET-*; the program
# fuzz.TARGET repeats it, given the file.
set -eu

build=$1
seconds=$2
shift 2
tests=$(cd "$(dirname "$0")/../tests/fuzz" && pwd)
if [ $# -eq 0 ]; then
    set -- beanstalkd cron http zone
fi

status=0
for target in "$@"; do
    case $target in
    cron) size=1100 ;; # longer texts are refused at 1,000
    *) size=8192 ;;
    esac
    found=$build/corpus/$target
    mkdir -p "$found"
    "$tests/seeds.py" "$target" "$build/seeds/$target"
    output=$(mktemp)
    if "$build/tests/fuzz/fuzz.$target" -max_total_time="$seconds" -max_len="$size" -timeout=10 -rss_limit_mb=1024 \
        -artifact_prefix="$build/failed-$target-" -print_final_stats=1 "$found" "$build/seeds/$target" 2>"$output"; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$output")
        echo "$target: $runs inputs in $seconds s, none failed"
    else
        status=1
        tail -n 60 "$output" >&2
        echo "fuzz.$target failed" >&2
    fi
    rm -f "$output"
done
exit $status
