#!/usr/bin/env bash
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# The example of weir.conf(5) is a set-up without faults, once its programs exist, and the one that is installed.
#
#   man_setup.sh WEIR PAGE
set -eu

weir=$1
page=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

sed -n '/^\.Bd -literal$/,/^\.Ed$/p' "$page" | grep -v '^\.' > "$folder/page.conf"
# Its first two lines are for who reads the file without the page.
tail -n +3 "$(dirname "$0")/../../packaging/weir.conf" | diff "$folder/page.conf" -
sed 's|/usr/local/lib/weir/[a-z-]*|true|' "$folder/page.conf" > "$folder/weir.conf"
[ "$(grep -c '{$' "$folder/weir.conf")" -ge 4 ]
"$weir" config check "$folder/weir.conf"
"$weir" config show --origin "$folder/weir.conf" > "$folder/shown.conf"
"$weir" config check "$folder/shown.conf"
diff <("$weir" config show "$folder/weir.conf") <("$weir" config show "$folder/shown.conf")
