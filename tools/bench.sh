#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# Builds the benchmarks as released (preset bench) and runs them beside their peers. Arguments are those of
# bench/run.sh: --quick, --filter TEXT, --rounds N, --pin, --calm, --cpu, --json FILE.
set -eu

cd "$(dirname "$0")/.."
tools/deps.sh build test bench
cmake --preset bench >/dev/null
cmake --build --preset bench --parallel "$(nproc)" --target bench_queue bench_pool
exec bench/run.sh build/bench "$@"
