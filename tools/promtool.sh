#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# Lets Prometheus' own promtool judge the metrics: runs conformance.promtool and http.metrics of a build with it. Where promtool
# is not installed, Debian's package is fetched and unpacked under build/promtool, not installed: it comes with a server.
#
#   tools/promtool.sh BUILD     e.g. build/dev
set -eu

cd "$(dirname "$0")/.."
if [ $# -ne 1 ]; then
    echo "usage: tools/promtool.sh BUILD" >&2
    exit 64
fi

folder=build/promtool
if command -v promtool >/dev/null; then
    promtool=$(command -v promtool)
else
    promtool=$PWD/$folder/usr/bin/promtool
    if [ ! -x "$promtool" ]; then
        rm -rf "$folder"
        mkdir -p "$folder"
        fetch() {
            (cd "$folder" && apt-get -q download prometheus)
        }
        # The package index may be absent or old on a fresh image.
        if ! fetch >"$folder/log" 2>&1 && ! { apt-get -q update && fetch; } >"$folder/log" 2>&1; then
            cat "$folder/log" >&2
            echo "tools/promtool.sh: could not fetch Debian's package prometheus" >&2
            exit 69
        fi
        dpkg -x "$folder"/prometheus_*.deb "$folder"
        rm "$folder"/prometheus_*.deb
        # It has far more than promtool.
        rm -rf "${folder:?}/usr/bin/prometheus" "${folder:?}/usr/share"
    fi
fi

# A skipped test is status 77, and fails here.
export WEIR_PROMTOOL="$promtool"
"$1/tests/test.conformance.promtool"
"$1/tests/integration/test.http.metrics"

# The alerts fire when they should, and what the dashboards ask is PromQL.
(cd packaging/prometheus && "$promtool" check rules weir.rules.yml && "$promtool" test rules weir.test.yml)
rules=build/dashboards.rules.yml
tools/check_dashboards.py --rules >"$rules"
"$promtool" check rules "$rules"
