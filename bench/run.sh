#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# Runs the benchmarks of a finished build beside their peers and prints the table.
#
#   bench/run.sh BUILD [--quick] [--filter TEXT] [--rounds N] [--pin] [--calm] [--cpu]
#                      [--json FILE]
#
# BUILD is the folder of the preset bench. The peers in Go are built into it first; without Go (or its module proxy)
# they are left out, which is said here and at the head of the table. The samples go to BUILD/bench/samples.jsonl
# unless --json says otherwise.
set -eu

if [ $# -lt 1 ] || [ ! -x "$1/bench/bench_queue" ]; then
    echo "usage: bench/run.sh BUILD [--quick] [--filter TEXT] [--rounds N] [--pin] [--calm] [--cpu] [--json FILE]" >&2
    echo "BUILD: a build with WEIR_BENCH=ON, such as build/bench of the preset bench" >&2
    exit 64
fi
build=$(cd "$1" && pwd)/bench
shift
here=$(cd "$(dirname "$0")" && pwd)

set -- --json "$build/samples.jsonl" "$@" "$build/bench_queue" "$build/bench_pool"
skipped=$("$build/bench_queue" --list 2>&1 >/dev/null; "$build/bench_pool" --list 2>&1 >/dev/null)
skipped=$(printf '%s\n' "$skipped" | sed 's/^SKIPPED: //' | sort -u)
if ! command -v go >/dev/null; then
    why="peers in Go (client-go, controller-runtime): there is no go command here"
elif ! (cd "$here/peers/go" && go build -o "$build/bench_peers_go" .); then
    why="peers in Go (client-go, controller-runtime): go build failed, see above"
else
    why=
    set -- "$@" "$build/bench_peers_go"
fi
if [ -n "$why" ]; then
    echo "SKIPPED: $why" >&2
    skipped="$skipped
$why"
fi
BENCH_SKIPPED=$skipped exec python3 "$here/run.py" "$@"
