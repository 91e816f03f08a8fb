#!/usr/bin/env bash
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# The page of `weir serve`: its sources are web/src, and web/dist is what they give, so that a build needs no npm.
#
#   tools/web.sh build         writes web/dist
#   tools/web.sh check WEIR    is web/dist what the sources give? does the page do what it should, in a real browser on
#                              WEIR, the program? Pictures go to build/screenshots; JOBS=N in the environment: N jobs
#
# Exit status 77: npm, or a package of its registry, or chromium is not there.
set -eu

cd "$(dirname "$0")/.."

skip() {
    echo "SKIPPED: the page: $1" >&2
    exit 77
}

install() {
    command -v npm >/dev/null || skip "npm is not installed"
    if ! [ web/node_modules/.package-lock.json -nt web/package-lock.json ]; then
        (cd web && npm ci --no-audit --no-fund --ignore-scripts >/dev/null) ||
            skip "npm cannot install what web/package-lock.json lists"
    fi
}

case "${1:-}" in
build)
    install
    (cd web && node build.mjs dist)
    ;;
check)
    WEIR=$(realpath "$2")
    export WEIR
    install
    (cd web && node build.mjs ../build/web)
    diff -rq web/dist build/web || { echo "web/dist is not what web/src gives: make web" >&2 && exit 1; }
    (cd web && node --test test/format.test.mjs) >build/web-format.out 2>&1 || { cat build/web-format.out >&2 && exit 1; }
    CHROMIUM=$(command -v chromium) || skip "chromium is not installed"
    export CHROMIUM
    export SCREENSHOTS="$PWD/build/screenshots"
    (cd web && node --test --test-timeout=240000 test/page.test.mjs) >build/web-page.out 2>&1 ||
        { cat build/web-page.out >&2 && exit 1; }
    grep -E '^ok|^# [0-9]+ bytes|^# pass' build/web-page.out
    ;;
*)
    echo "usage: tools/web.sh build | check WEIR" >&2
    exit 64
    ;;
esac
