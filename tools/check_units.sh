#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# Are the units of packaging/systemd, and the drop-ins on a unit of their name, as systemd wants them? Skipped, loudly,
# where systemd-analyze is not installed.
set -eu

cd "$(dirname "$0")/.."
# Each consumer has up to eight connections to a node for each tube; systemd's own limit is 1024.
if ! grep -qx 'LimitNOFILE=65536' packaging/systemd/beanstalkd.service.d/weir.conf; then
    echo "check_units: beanstalkd.service.d/weir.conf: no LimitNOFILE=65536" >&2
    exit 1
fi
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
for drop_in in packaging/systemd/*.service.d/weir.conf; do
    unit=$(basename "$(dirname "$drop_in")" .d)
    mkdir "$folder/$unit.d"
    printf '[Service]\nExecStart=%s\n' "$(command -v true)" >"$folder/$unit"
    sed "s#^ExecStart=/[^ ]*#ExecStart=$(command -v true)#" "$drop_in" >"$folder/$unit.d/weir.conf"
    count=$((count + 1))
done
# A word of warning has exit status 0.
said=$(systemd-analyze verify --man=no "$folder"/*.service 2>&1) || true
if [ -n "$said" ]; then
    echo "$said" >&2
    exit 1
fi
echo "check_units: $count units"
