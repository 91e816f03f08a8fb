#!/usr/bin/env bash
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# weir beside programs with the conventions of go-queue's dq (tests/interop/go), on three beanstalkds and a Redis.
#
#   tests/interop/run.sh WEIR [JOBS [PARTS]]     WEIR: the program; JOBS: of the shared tube, 5000 by default
#
# Go's jobs are run by weir, weir's by Go, both kinds by both kinds of consumer, and equal jobs of three tubes by each:
# each job exactly once. Exit status 77: something that it needs is not installed.
set -u

weir=$(realpath "$1")
jobs=${2:-5000}
parts=${3:-"apart equal shared"}
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
# shellcheck source=tests/interop/servers.sh
. "$here/servers.sh"
need go beanstalkd redis-server

consumer_pid=
# shellcheck disable=SC2317 # called by the trap
finish() {
    end_process "$consumer_pid"
    end_servers
    rm -rf "$folder"
}
trap finish EXIT

(cd "$here/go" && go build -o "$folder/interop" .) || exit 1
start_servers
export WEIR_BROKER=$broker
go=$folder/interop
status=0

# Runs a weir consumer of a tube until that is empty; each body is a line of the file.
weir_consume() {
    "$weir" work -e -j 8 "$1" -- sh -c 'printf "%s\n" "$(cat)"' >"$2" 2>>"$folder/weir.log"
}

# Starts a Go consumer; it ends when end_go closes its standard input.
start_go() {
    mkfifo "$folder/hold"
    "$go" consume "$nodes" "$1" "$redis" <"$folder/hold" >"$2" &
    consumer_pid=$!
    exec 9>"$folder/hold"
}

end_go() {
    exec 9>&-
    wait "$consumer_pid" || status=1
    consumer_pid=
    rm "$folder/hold"
}

# Each of the expected lines is there exactly once, and nothing else.
judge() {
    local name=$1 expected=$2
    shift 2
    sort "$expected" >"$folder/expected"
    cat "$@" | sort >"$folder/got"
    local lost unexpected doubled
    lost=$(uniq "$folder/got" | comm -23 "$folder/expected" - | wc -l)
    unexpected=$(uniq "$folder/got" | comm -13 "$folder/expected" - | wc -l)
    doubled=$(uniq -d "$folder/got" | wc -l)
    echo "$name: $(wc -l <"$folder/expected") jobs: lost $lost, unexpected $unexpected, doubled $doubled"
    [ "$lost$unexpected$doubled" = 000 ] || status=1
}

lines() { # lines PREFIX COUNT
    seq -f "$1-%.0f" 1 "$2"
}

apart() {
    lines go 1000 >"$folder/a"
    "$go" produce "$nodes" from-go 1000 1 >/dev/null || status=1
    weir_consume from-go "$folder/a.out"
    judge "Go's jobs, run by weir" "$folder/a" "$folder/a.out"

    lines weir 1000 >"$folder/b"
    start_go to-go "$folder/b.out"
    "$weir" put -l -q to-go <"$folder/b" || status=1
    weir_consume to-go "$folder/b.none" # finds what is left: nothing of it is Go's to lose
    end_go
    judge "weir's jobs, run by Go and weir" "$folder/b" "$folder/b.out" "$folder/b.none"
}

equal() {
    lines same 100 >"$folder/d"
    at=@$(($(date +%s) + 4))
    for tube in same-go same-weir same-both; do
        "$weir" put -l -q --at "$at" "$tube" <"$folder/d" || status=1
    done
    start_go same-go "$folder/d.go"
    weir_consume same-weir "$folder/d.weir"
    weir_consume same-go "$folder/d.none"
    end_go
    start_go same-both "$folder/d.both"
    weir_consume same-both "$folder/d.rest"
    end_go
    judge "equal jobs at one time, of a tube that Go runs" "$folder/d" "$folder/d.go" "$folder/d.none"
    judge "of one that weir runs" "$folder/d" "$folder/d.weir"
    judge "of one that both run" "$folder/d" "$folder/d.both" "$folder/d.rest"
}

shared() {
    half=$((jobs / 2))
    { lines weir $half && lines go $half; } >"$folder/c"
    start_go shared "$folder/c.go"
    "$go" produce "$nodes" shared $half 1 >/dev/null &
    producer=$!
    lines weir $half | "$weir" put -l -q shared || status=1
    weir_consume shared "$folder/c.weir" &
    worker=$!
    wait "$producer" || status=1
    wait "$worker" || status=1
    weir_consume shared "$folder/c.rest"
    end_go
    judge "both kinds of jobs, run by both ($(wc -l <"$folder/c.go") by Go)" "$folder/c" "$folder/c.go" "$folder/c.weir" \
        "$folder/c.rest"
}

[[ $parts != *apart* ]] || apart
[[ $parts != *equal* ]] || equal
[[ $parts != *shared* ]] || shared
exit $status
