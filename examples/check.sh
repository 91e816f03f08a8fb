#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# Runs an example in an empty folder and compares what it prints with what it should:
#   check.sh exact|sorted EXPECTED PROGRAM [ARGUMENT...]
set -eu

order=$1
expected=$(cd "$(dirname "$0")" && pwd)/$2
shift 2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/run"
cd "$folder/run"
if ! "$@" >../output; then
    cat ../output
    echo "$1: exit status is not 0" >&2
    exit 1
fi
cd ..
if [ "$order" = sorted ]; then
    sort output >found
    sort "$expected" >wanted
else
    cp output found
    cp "$expected" wanted
fi
diff -u wanted found
echo "$1: as expected"
