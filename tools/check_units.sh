#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# Are the units of packaging/systemd as systemd wants them? Skipped, loudly, where systemd-analyze is not installed.
set -eu

cd "$(dirname "$0")/.."
if ! command -v systemd-analyze >/dev/null; then
    echo "check_units: SKIPPED: systemd-analyze is not installed" >&2
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
count=0
for unit in packaging/systemd/*.service; do
    name=$(basename "$unit" | sed 's/@\./@check./')
    # The program need not be installed here.
    sed "s#^\(ExecStart[A-Za-z]*\)=/usr/local/bin/weir#\1=$(command -v true)#" "$unit" >"$folder/$name"
    count=$((count + 1))
done
# A word of warning has exit status 0.
said=$(systemd-analyze verify --man=no "$folder"/*.service 2>&1) || true
if [ -n "$said" ]; then
    echo "$said" >&2
    exit 1
fi
echo "check_units: $count units"
