#!/usr/bin/env bash
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# Where the jobs themselves are damaged, the commands of weir-repair(1) save all that are not on the damaged page, also two
# that the damage gave one key.
#
#   man_dump.sh WEIR PAGE DOCUMENT
set -eu

weir=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The page and the document have the same commands.
sed -n '/^\.Bd -literal$/,/^\.Ed$/p' "$2" | grep -v '^\.' | sed -n '/sqlite3/,/sqlite3 NEW/p' > "$folder/page"
sed -n 's/^    //p' "$3" | sed -n '/sqlite3 PATH .dump/,/sqlite3 NEW/p' > "$folder/document"
[ -s "$folder/page" ]
diff <(sed 's/^ *//; s/\\-/-/g; s/\\(ha/^/g; s/\\e/\\/g' "$folder/page") <(sed 's/^ *//' "$folder/document")

cd "$folder"
seq 500 | "$weir" put -b sqlite:jobs.db --lines -q t
for key in key-one key-two; do
    "$weir" put -b sqlite:jobs.db --unique=$key -q t "${key#key-}"
done
LC_ALL=C sed -i 's/key-two/key-one/g' jobs.db
read -r page count <<< "$(sqlite3 -separator ' ' jobs.db \
    "SELECT pageno, ncell FROM dbstat WHERE name = 'jobs' AND pagetype = 'leaf' LIMIT 1 OFFSET 1")"
dd if=/dev/zero of=jobs.db bs=4096 seek=$((page - 1)) count=1 conv=notrunc status=none
if "$weir" repair -b sqlite:jobs.db 2> said; then
    exit 1
fi
grep -q 'sqlite3 FILE .dump' said
"$weir" doctor -b sqlite:jobs.db | grep -q 'sqlite3 FILE .dump'
sed 's/PATH/jobs.db/; s/NEW/new.db/' document | sh
"$weir" repair -b sqlite:new.db > /dev/null
"$weir" work -b sqlite:new.db -e t -- sh -c 'cat; echo' 2> /dev/null > ran
[ "$(wc -l < ran)" = $((502 - count)) ]
[ "$(sort -u ran | wc -l)" = $((502 - count)) ]
