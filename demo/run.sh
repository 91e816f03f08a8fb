#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# The main job on this machine's own files: hash them as jobs, with delays, failures and a worker that is killed,
# and check that the result is byte for byte what sha256sum alone gives.
#
# Usage: demo/run.sh BUILD_DIR
#
# Exit status 0: everything was as promised. Everything is written below a folder of its own, which is removed at
# the end. FILES=N in the environment changes how many files are taken (at least 1000).
set -eu
LC_ALL=C
export LC_ALL

fail() {
    echo "demo: FAILED: $*" >&2
    exit 1
}

[ $# -eq 1 ] || fail "usage: demo/run.sh BUILD_DIR"
weir=$1/src/weir
[ -x "$weir" ] || fail "$weir: no program; build it first"
weir=$(realpath "$weir")
handler=$(realpath "$(dirname "$0")")/handler.sh
wanted=${FILES:-1200}
[ "$wanted" -ge 1000 ] || fail "FILES=$wanted: expected at least 1000"

work=$(mktemp -d)
worker=
clean_up() {
    if [ -n "$worker" ]; then
        kill -KILL "$worker" 2> "$work/null" || :
    fi
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
cd "$work"

now_ms() {
    echo $(($(date +%s%N) / 1000000))
}

# The value of a number in a line of JSON: field NAME < LINE.
field() {
    sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p"
}

put() {
    "$weir" put --broker "$broker" --ttr 3s --lines --quiet "$@"
}

stats() {
    "$weir" stats --broker "$broker" --json "$1"
}

say() {
    printf '\n== %s\n' "$*"
}

# --- The files: the largest ones, and of the others every n-th, in a stable order.

find /usr/share/doc /usr/include -type f -readable ! -name '*
*' ! -name '*\\*' -printf '%s\t%p\n' | sort -k 2 > found
count=$(wc -l < found)
[ "$count" -ge 1000 ] || fail "only $count files below /usr/share/doc and /usr/include; expected at least 1000"
[ "$count" -ge "$wanted" ] || wanted=$count
sort -n -r found | head -n 40 > largest
sort -n -r found | tail -n +41 | sort -k 2 |
    awk -v count="$((count - 40))" -v wanted="$((wanted - 40))" \
        'int(NR * wanted / count) > int((NR - 1) * wanted / count)' > others
cat largest others | sort -k 2 > chosen
cut -f 2 chosen > list
files=$(wc -l < list)
[ "$files" -ge 1000 ] || fail "only $files files were chosen; expected at least 1000"
say "Jobs: $files files of /usr/share/doc and /usr/include, $(awk -F '\t' '
    { sum += $1 } $1 > most { most = $1 } NR == 1 || $1 < least { least = $1 }
    END { printf "%.1f MB in all, from %d bytes to %.1f MB", sum / 1e6, least, most / 1e6 }' chosen)"

# --- Put: one file in twenty has to wait, in five groups of delays.

broker=sqlite:$work/jobs.db
awk 'NR % 20 != 0' list > at_once
awk 'NR % 20 == 0 { print > "delayed." int(NR / 20) % 5 }' list
start=$(now_ms)
put files < at_once
group=0
for delay in 400ms 800ms 1.2s 1.6s 2s; do
    put --delay "$delay" files < "delayed.$group"
    group=$((group + 1))
done
put_ms=$(($(now_ms) - start))
delayed=$(cat delayed.? | wc -l)
echo "put in $put_ms ms, durably; $delayed of them delayed by up to 2 s"
"$weir" stats --broker "$broker"

# --- Work: one file in ten fails on its first try; the first worker is killed in the middle.

RESULTS=$work/results
RUNS=$work/runs
export RESULTS RUNS
mkdir "$RESULTS"
: > "$RUNS"
say "weir work -j 4, killed with kill -9 in the middle"
"$weir" work --broker "$broker" -j 4 --retry-delay 200ms --progress files -- "$handler" &
worker=$!
tries=0
while [ "$(wc -l < "$RUNS")" -lt $((files / 3)) ]; do
    kill -0 "$worker" 2> null || fail "the first worker ended by itself"
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || fail "the first worker is too slow: $(wc -l < "$RUNS") runs in a minute"
    sleep 0.1
done
kill -KILL "$worker"
ended=0
wait "$worker" 2> null || ended=$?
worker=
[ "$ended" -eq 137 ] || fail "the first worker ended with status $ended, not by kill -9"
killed_line=$(stats files)
echo "killed; what it leaves: $(echo "$killed_line" | field "done") done, $(
    echo "$killed_line" | field reserved) in its hands, which come back when their TTR of 3 s ends"

say "weir work -j 4 --until-empty, which takes over"
"$weir" work --broker "$broker" -j 4 --retry-delay 200ms --progress --until-empty \
    --summary summary files -- "$handler"

# --- Check.

final=$(stats files)
runs=$(wc -l < "$RUNS")
done_count=$(echo "$final" | field "done")
retried=$(echo "$final" | field retried)
expired=$(echo "$final" | field expired)
for state in delayed ready reserved buried; do
    [ "$(echo "$final" | field "$state")" -eq 0 ] || fail "jobs are left $state: $final"
done
[ "$(echo "$final" | field put)" -eq "$files" ] || fail "not every job was counted as put: $final"
[ "$done_count" -eq "$files" ] || fail "not every job was counted as done: $final"
find "$RESULTS" -type f -name '*[!0-9]*' | grep -q . && echo "(unfinished results of the killed worker: $(
    find "$RESULTS" -type f -name '*[!0-9]*' | wc -l))"
find "$RESULTS" -type f ! -name '*[!0-9]*' | wc -l > result_count
[ "$(cat result_count)" -eq "$files" ] || fail "$(cat result_count) results of $files files"
find "$RESULTS" -type f ! -name '*[!0-9]*' -exec cat -- {} + | sort > by_weir
tr '\n' '\0' < list | xargs -0 sha256sum -- | sort > by_sha256sum
cmp by_weir by_sha256sum || fail "the results are not those of sha256sum"
# Every job of the failing tenth ran again, and nothing else did but what the kill made run again.
awk '{ if ($2 > most[$1]) most[$1] = $2 } END { for (id in most) if (id % 10 == 3 && most[id] < 2) exit 1 }' \
    "$RUNS" || fail "a job that failed did not run again"
[ $((retried + expired)) -ge $((files / 10)) ] || fail "only $retried retries and $expired expiries"
[ "$runs" -le $((done_count + retried + expired)) ] || fail "$runs runs, but only $done_count done, $retried retried"
# Times have ten digits and nine decimals, so that they compare as text.
awk '$4 != "-" { timed++; if (($4 "") < ($3 "")) early++ } END { print timed + 0, early + 0 }' "$RUNS" > delays
read -r timed early < delays
[ "$timed" -ge "$delayed" ] || fail "only $timed runs of delayed jobs were timed, of $delayed"
[ "$early" -eq 0 ] || fail "$early jobs ran before their time"

# --- Beside xargs: the same handler on the same files, without delays and failures, in turns.

# Checks the results in a folder of the race.
check_race() {
    find "$1" -type f -exec cat -- {} + | sort | cmp - by_sha256sum || fail "$1: the results are not those of sha256sum"
}

unset RUNS
say "The same files and handler without delays, failures and kills: weir work -j 4 and xargs -P 4 in turns"
broker=sqlite:$work/race.db
weir_ms=0
xargs_ms=0
for round in 1 2; do
    put race < list
    RESULTS=$work/race.weir.$round
    mkdir "$RESULTS"
    start=$(now_ms)
    "$weir" work --broker "$broker" -j 4 --until-empty race -- "$handler"
    weir_ms=$((weir_ms + $(now_ms) - start))
    check_race "$RESULTS"
    RESULTS=$work/race.xargs.$round
    mkdir "$RESULTS"
    start=$(now_ms)
    tr '\n' '\0' < list | xargs -0 -n 1 -P 4 "$handler"
    xargs_ms=$((xargs_ms + $(now_ms) - start))
    check_race "$RESULTS"
done

# --- Tell.

say "Result"
awk -v files="$files" -v runs="$runs" -v retried="$retried" -v expired="$expired" -v put_ms="$put_ms" \
    -v lost="$((files - done_count))" -v delayed="$delayed" -v early="$early" -v weir_ms="$weir_ms" -v xargs_ms="$xargs_ms" \
    -v p50="$(field p50 < summary)" -v p99="$(field p99 < summary)" -v seconds="$(field seconds < summary)" \
    -v finished="$(field "done" < summary)" 'BEGIN {
    row = "%-34s %10s  %s\n"
    printf row, "jobs", files, lost " lost"
    printf row, "put", sprintf("%.0f/s", files * 1000 / put_ms), "durable when acknowledged"
    printf row, "runs", runs, "at least once each"
    printf row, "retries", retried, "after exit status 75"
    printf row, "taken back from the killed worker", expired, "when their TTR ended"
    printf row, "delayed jobs", delayed, early " ran early"
    printf row, "run time p50", sprintf("%.1f ms", p50 * 1000), "of the worker that took over"
    printf row, "run time p99", sprintf("%.1f ms", p99 * 1000), ""
    printf row, "its throughput", sprintf("%.1f/s", finished / seconds), "with retries and waits for delays and TTR"
    printf row, "weir work -j 4", sprintf("%.1f/s", 2000 * files / weir_ms), "durable, nothing delayed"
    printf row, "xargs -P 4", sprintf("%.1f/s", 2000 * files / xargs_ms), "nothing durable"
    printf row, "weir / xargs", sprintf("%.2f", xargs_ms / weir_ms), "1 = as fast"
}'
echo "The $files results are, byte for byte, those of sha256sum alone."
