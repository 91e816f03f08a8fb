#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# Builds the benchmarks as released (preset bench), runs them beside their peers and prints the table. Arguments are
# those of bench/run.py: --quick, --filter TEXT, --rounds N, --json FILE.
set -eu

cd "$(dirname "$0")/.."
tools/deps.sh build test bench
cmake --preset bench >/dev/null
cmake --build --preset bench --parallel "$(nproc)" --target bench_weir
folder=$PWD/build/bench/bench
if ! (cd bench/peers/go && go build -o "$folder/bench_peers_go" .); then
    rm -f "$folder/bench_peers_go"
    echo "bench: client-go and controller-runtime are left out: they could not be built" >&2
fi
if ! (cd tests/interop/go && go build -o "$folder/bench_peers_dq" .); then
    rm -f "$folder/bench_peers_dq"
    echo "bench: dq's conventions in Go are left out: they could not be built" >&2
fi
if python3 -c 'import persistqueue' 2>/dev/null; then
    install bench/peers/python/persist_queue.py "$folder/bench_peers_persist_queue"
else
    rm -f "$folder/bench_peers_persist_queue"
    echo "bench: Python's persist-queue is left out: it is not installed" >&2
fi
exec python3 bench/run.py "$@" "$folder"
