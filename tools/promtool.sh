#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# Lets Prometheus' own promtool judge the metrics: runs conformance.promtool and http.metrics of a build with it.
#
#   tools/promtool.sh BUILD     e.g. build/dev
set -eu

cd "$(dirname "$0")/.."
if [ $# -ne 1 ]; then
    echo "usage: tools/promtool.sh BUILD" >&2
    exit 64
fi

# A skipped test is status 77, and fails here.
"$1/tests/test.conformance.promtool"
"$1/tests/integration/test.http.metrics"

# The alerts fire when they should, and what the dashboards ask is PromQL.
(cd packaging/prometheus && promtool check rules weir.rules.yml && promtool test rules weir.test.yml)
rules=build/dashboards.rules.yml
tools/check_dashboards.py --rules >"$rules"
promtool check rules "$rules"
